"""The questions written by hand (test split only): intent and slots from a file, gold from the catalogue."""

from __future__ import annotations

from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict

from hat.domains.base import Task
from hat.domains.live_shop.catalogue import Catalogue
from hat.domains.live_shop.gold import INTENTS
from hat.domains.live_shop.sessions import split_sessions
from hat.domains.live_shop.tasks import make_task
from hat.errors import BadInput
from hat.schema_version import SchemaVersion

FILE = "questions/hand_written.yaml"


class HandWrittenQuestion(BaseModel):
    """One question of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    session: int
    """Number of a test session, from 0."""
    intent: str
    slots: dict[str, int | str]
    question: str


class HandWrittenFile(BaseModel):
    """The file of questions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: SchemaVersion
    questions: tuple[HandWrittenQuestion, ...]


def hand_written_tasks(catalogue: Catalogue) -> list[Task]:
    """All hand-written questions as tasks `hand-01` onward.

    Raises:
        BadInput: an intent or session that does not exist, or slots outside the catalogue's test split.
    """
    text = files("hat.domains.live_shop").joinpath(FILE).read_text(encoding="utf-8")
    written = HandWrittenFile.model_validate(yaml.safe_load(text))
    sessions = split_sessions(catalogue, "test")
    tasks = []
    for number, item in enumerate(written.questions, start=1):
        where = f"{FILE}, question {number}"
        if item.intent not in INTENTS or not 0 <= item.session < len(sessions):
            raise BadInput(f"intent {item.intent!r} or session {item.session} does not exist", where=where)
        _check_split(catalogue, item, where)
        tasks.append(
            make_task(
                catalogue,
                id=f"hand-{number:02d}",
                split="test",
                intent=item.intent,
                question=item.question,
                slots=item.slots,
                session=sessions[item.session],
                source="hand-written",
            )
        )
    return tasks


def _check_split(catalogue: Catalogue, item: HandWrittenQuestion, where: str) -> None:
    links = [value for key, value in item.slots.items() if key in ("link", "a", "b")]
    if item.intent == "price_by_name":
        product = catalogue.find(str(item.slots["name"]))
        links = [product.link_id if product else -1]
    if item.intent == "missing_link":
        held_out = all(link not in catalogue.products for link in links)
    else:
        held_out = all(link in catalogue.links["test"] for link in links)
    region = item.slots.get("region")
    if not held_out or (region is not None and region not in catalogue.regions["test"]):
        raise BadInput("a link or region outside the test split", where=where)
