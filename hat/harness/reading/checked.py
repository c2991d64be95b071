"""Checking parsed data against a pydantic model, with every wrong key at its line."""

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined

Model = TypeVar("Model", bound=BaseModel)
_PLAIN = {
    "extra_forbidden": "unknown key",
    "missing": "is missing",
    "string_type": "must be text (put quotes around it)",
}


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
            place = tuple(part for part in detail["loc"] if part != "[key]")
            key = ".".join(str(part) for part in place)
            reason = _PLAIN.get(detail["type"], detail["msg"].removeprefix("Value error, "))
            if detail["type"] == "extra_forbidden":
                near = difflib.get_close_matches(str(place[-1]), sorted(known), n=1)
                reason += f" (did you mean {near[0]!r}?)" if near else ""
            message = f"{key}: {reason}" if key else reason
            problems.add(rule, path, message, source.line(*place))
        return None
