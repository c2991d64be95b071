"""Questions mined from real streams: they have no gold, so they can be trained on only after a judge's yes."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hat.domains.base import Domain, Task
from hat.errors import BadInput
from hat.files import canonical_json, sha256_text
from hat.storage import NotFound, Store, open_store
from hat.trajectories.held_out import HELD_OUT_SPLITS, SAMPLED_SEEDS
from hat.validation import first_problem


class MinedQuestion(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1, max_length=400)
    """What a viewer asked, with nothing that identifies them."""
    language: Literal["en", "zh"] = "en"
    """Its language."""


def read_mined(location: str, store: Store) -> list[MinedQuestion]:
    """The questions of a JSON Lines file: a key of the run's store, or a file of another (``s3://bucket/folder/file``).

    Raises:
        BadInput: there is no such file, or a line is malformed.
        EnvironmentFailure: the store fails.
    """
    if "://" in location:
        folder, _, query = location.partition("?")
        folder, _, name = folder.rpartition("/")
        store, key = open_store(f"{folder}?{query}" if query else folder), name
    else:
        key = location
    try:
        text = store.get(key).decode("utf-8")
    except (NotFound, UnicodeDecodeError) as error:
        raise BadInput(
            f"no readable file of questions: {error}",
            where=f"generate.mined_questions={location}",
            mend="Put it there, or leave the setting empty.",
        ) from error
    questions = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                questions.append(MinedQuestion.model_validate_json(line))
            except ValidationError as error:
                where = f"{location}:{number}"
                raise BadInput(
                    first_problem(error), where=where, mend='Write {"question": "..."}.'
                ) from error
    return questions


def mined_digest(questions: Sequence[MinedQuestion]) -> str:
    """Hex SHA-256 of the questions."""
    return sha256_text(canonical_json([each.model_dump() for each in questions]))


def mined_tasks(
    questions: Sequence[MinedQuestion],
    sessions: Sequence[Mapping[str, str | int]],
    held_out: Collection[str],
    limit: int,
) -> tuple[list[Task], Counter[str]]:
    """Training tasks without gold, each asked in one of the run's own training sessions; and why others are none.

    Args:
        sessions: the sessions of the training tasks that have gold; none of a held-out split may be among them.
        held_out: questions as `normalised`, which nothing may be trained on.
        limit: tasks at most, by digest of the question, so that the choice does not depend on the file's order.
    """
    rejected: Counter[str] = Counter()
    seen: set[str] = set()
    tasks: list[Task] = []
    for each in sorted(questions, key=lambda one: sha256_text(one.question)):
        words = normalised(each.question)
        if words in held_out:
            rejected["held_out"] += 1
        elif words in seen:
            rejected["duplicate"] += 1
        elif len(tasks) >= limit:
            rejected["over_limit"] += 1
        else:
            seen.add(words)
            digest = sha256_text(each.question)
            session = sessions[int(digest[:8], 16) % len(sessions)]
            tasks.append(_task(each, digest, session))
    return tasks, rejected


def held_out_questions(domain: Domain, tasks_per_seed: int) -> set[str]:
    """Normalised questions of the evaluation's splits, as far as seeds of theirs are sampled, and hand-written ones."""
    tasks = list(domain.hand_written_tasks())
    for split in HELD_OUT_SPLITS:
        for seed in SAMPLED_SEEDS:
            tasks += domain.sample_tasks(split, tasks_per_seed, seed)
    return {normalised(task.question) for task in tasks}


def normalised(question: str) -> str:
    """A question without case, punctuation and spacing: what makes two of them the same."""
    return "".join(character for character in question.casefold() if character.isalnum())


def _task(question: MinedQuestion, digest: str, session: Mapping[str, Any]) -> Task:
    return Task(
        id=f"mined-{digest[:16]}",
        split="train",
        intent="mined",
        question=question.question,
        session=json.loads(json.dumps(dict(session))),
        slots={},
        operations=(),
        facts=(),
        answerable=True,
        language=question.language,
        source="mined",
    )
