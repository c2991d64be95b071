"""Where each unit stands, from the result files alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from hat.reproduce.results import Result, read_result, result_path
from hat.reproduce.units import Plan, Unit, needed_units, recipe_digest

State = Literal["done", "other settings", "ready", "waits", "unavailable"]


@dataclass(frozen=True)
class Status:
    """One unit: ``reason`` says what it waits for, or why it cannot be run."""

    unit: Unit
    state: State
    reason: str = ""
    result: Result | None = None


def status_of(plan: Plan, unit: Unit, folder: Path) -> Status:
    """Where one unit stands. Raises `BadInput` where its file is malformed."""
    path = result_path(folder, unit.id)
    if path.is_file():
        result = read_result(path)
        if result.header.recipe_digest != recipe_digest(plan, unit):
            return Status(unit, "other settings", "its file was made with other settings", result)
        return Status(unit, "done", result=result)
    if unit.unavailable:
        return Status(unit, "unavailable", unit.unavailable)
    waits = [why for needed in needed_units(unit) if (why := _unfit(plan, needed, folder))]
    return Status(unit, "waits", f"for {' and '.join(waits)}") if waits else Status(unit, "ready")


def _unfit(plan: Plan, needed: Unit, folder: Path) -> str:
    """The unit, where it has left no model that may be used; else empty."""
    path = result_path(folder, needed.id)
    if not path.is_file():
        return needed.id
    if read_result(path).header.recipe_digest != recipe_digest(plan, needed):
        return f"{needed.id}, whose file was made with other settings"
    return ""


def minutes_left(statuses: Sequence[Status]) -> float:
    """Expected minutes of what can still be run, at the pace of what is done (median of measured over expected)."""
    paces = [
        each.result.header.provenance.wall_seconds / 60 / each.unit.minutes
        for each in statuses
        if each.result is not None and not each.result.header.provenance.partial
    ]
    pace = median(paces) if paces else 1.0
    return pace * sum(each.unit.minutes for each in statuses if each.state in ("ready", "waits"))
