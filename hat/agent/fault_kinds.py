"""The kinds of simulated faults of tools (family K5): what the model gets in place of the true result."""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from hat.domains.base import ToolOutcome

FAULTS: Mapping[str, str] = {
    "timeout": "The tool did not answer in time. Try again.",
    "permission_denied": "Permission was refused this time. Try again.",
    "malformed_result": "The tool's answer could not be read. Try again.",
}
"""Code and message of the faults that the tool's host reports as errors; a domain's own error codes are others."""

CUT_OFF, WRONG_TYPE = "cut_off_result", "wrong_type_result"
SILENT_FAULTS = (CUT_OFF, WRONG_TYPE)
"""Faults that nobody reports: the call seems to succeed, and the result is broken. Whoever reads it must notice."""

REPORTED_FAULTS: tuple[str, ...] = tuple(sorted(FAULTS))
ALL_FAULTS: tuple[str, ...] = (*REPORTED_FAULTS, *SILENT_FAULTS)


def broken_outcome(kind: str, true_outcome: Callable[[], ToolOutcome], draw: random.Random) -> ToolOutcome:
    """The outcome under a fault; its ``code`` is the kind, whatever its status.

    Args:
        true_outcome: gives what the call would have returned; asked only by kinds that break a result.
    """
    if kind in FAULTS:
        return ToolOutcome("error", FAULTS[kind], kind)
    value = true_outcome().value
    broken = _cut_off(value) if kind == CUT_OFF else _of_wrong_type(value, draw)
    return ToolOutcome("ok", broken, kind)


def _cut_off(value: Any) -> str:
    """The result's JSON text cut short before its first value, so that nothing can be answered from it."""
    text = json.dumps(value, ensure_ascii=False)
    return text[: text.index(":") + 1] if ":" in text else text[:1]


def _of_wrong_type(value: Any, draw: random.Random) -> Any:
    """A JSON value of another type than the result has, without any of its content."""
    others: tuple[Any, ...] = (None, 0, True, "", [], {})
    return draw.choice([other for other in others if type(other) is not type(value)])
