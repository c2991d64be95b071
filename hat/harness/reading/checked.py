"""Checking parsed data against a pydantic model, with every wrong key at its line."""

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined
from hat.validation import place, reason

Model = TypeVar("Model", bound=BaseModel)


def checked(
    model: type[Model],
    source: Lined,
    path: Path,
    rule: str,
    problems: Problems,
    *,
    known: Collection[str] = (),
) -> Model | None:
    """The data as a ``model``; None when it does not fit, each reason noted under ``rule``.

    ``known`` are keys among which the one that an unknown key was meant to be is looked for.
    """
    try:
        return model.model_validate(source.value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            parts = tuple(part for part in detail["loc"] if part != "[key]")
            wrong = reason(detail)
            if detail["type"] == "extra_forbidden":
                near = difflib.get_close_matches(str(parts[-1]), sorted(known), n=1)
                wrong += f" (did you mean {near[0]!r}?)" if near else ""
            key = place(detail)
            problems.add(rule, path, f"{key}: {wrong}" if key else wrong, source.line(*parts))
        return None
