"""What `hat reproduce` shows: how it goes, its list of units, and the table."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.status import Status as Spinner
from rich.table import Table as Grid

from hat.reporting.reproduction import sections, summary, title
from hat.reproduce.status import Status, minutes_left, status_of
from hat.reproduce.table import Table
from hat.reproduce.units import Plan, Unit
from hat.runs.progress import Event

_LINE_EVERY_SECONDS = 60.0
_TRUST_AFTER = 0.05
"""Share of a step from which on its own pace is believed."""
_OUTCOMES = {"met": "green", "missed": "red", "not measured": "dim"}
_STYLES = {"done": "green", "unavailable": "dim", "other settings": "yellow", "waits": "dim"}


class Progress:
    """A line when a unit starts or ends and now and then between, with what is left; a spinner on a terminal."""

    def __init__(self, console: Console, plan: Plan, units: Sequence[Unit], place: Path) -> None:
        self._console = console
        self._plan, self._units, self._place = plan, units, place
        self._spinner = Spinner("", console=console) if console.is_terminal else None
        self._started = self._step_started = self._last_line = 0.0
        self._last: Event | None = None
        self._expected = self._after = 0.0

    def __enter__(self) -> Self:
        if self._spinner:
            self._spinner.start()
        left = minutes_left([status_of(self._plan, unit, self._place) for unit in self._units])
        self._say(f"{len(self._units)} units, results in {self._place}, {in_words(left)} of work left")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spinner:
            self._spinner.stop()

    def starts(self, unit: Unit, left: Sequence[Unit]) -> None:
        self._started, self._last = time.time(), None
        statuses = [status_of(self._plan, each, self._place) for each in self._units]
        waiting = {unit.id, *(each.id for each in left)}
        all_left = minutes_left([each for each in statuses if each.result or each.unit.id in waiting])
        waiting.remove(unit.id)
        self._after = minutes_left([each for each in statuses if each.result or each.unit.id in waiting])
        self._expected = all_left - self._after
        position = self._units.index(unit) + 1
        self._say(f"[{position}/{len(self._units)}] {unit.id} starts, {in_words(all_left)} of work left")

    def goes_on(self, unit: Unit, event: Event | None) -> None:
        if event is not None and event.event in ("progress", "started"):
            if event.event == "started":
                self._step_started = time.time()
            self._last = event
        if self._spinner:
            self._spinner.update(self._now(unit))
        elif time.time() - self._last_line > _LINE_EVERY_SECONDS:
            self._say(self._now(unit))

    def ends(self, unit: Unit, word: str, note: str) -> None:
        took = f" in {in_words((time.time() - self._started) / 60)}" if word == "done" else ""
        self._say(f"{unit.id} {word}{took}: {note}")

    def _now(self, unit: Unit) -> str:
        minutes = (time.time() - self._started) / 60
        where = ""
        if self._last is not None:
            count = f" {self._last.done}/{self._last.total}" if self._last.total else ""
            where = f"{self._last.step}{count} {self._last.note}".rstrip() + ", "
        left = in_words(self._after + self._left_of_unit(minutes))
        late = " at least: it takes longer than expected" if minutes > self._expected else ""
        return f"{unit.id}: {where}{in_words(minutes)} so far, {left} of work left{late}"

    def _left_of_unit(self, minutes: float) -> float:
        """By its step's own pace, once that is known; else what is left of what was expected."""
        share = self._last.done / self._last.total if self._last and self._last.total else 0.0
        if share >= _TRUST_AFTER:
            return (time.time() - self._step_started) / 60 * (1 - share) / share
        return max(0.0, self._expected - minutes)

    def _say(self, text: str) -> None:
        self._last_line = time.time()
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def in_words(minutes: float) -> str:
    """A time as people say it."""
    if minutes < 1.5:
        return f"{60 * minutes:.0f} s"
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def print_statuses(statuses: Sequence[Status], left: float, place: Path, console: Console) -> None:
    """The units, where they stand, and what is left in words."""
    table = Grid("unit", "state", "expected", "", box=None)
    for each in statuses:
        note = each.reason
        if each.result is not None and not note:
            provenance = each.result.header.provenance
            note = (
                f"took {in_words(provenance.wall_seconds / 60)}, {provenance.peak_memory_bytes / 1e9:.1f} GB"
            )
        style = _STYLES.get(each.state, "")
        table.add_row(each.unit.id, each.state, in_words(each.unit.minutes), note, style=style)
    console.print(table)
    done = sum(each.state == "done" for each in statuses)
    console.print(f"{done} of {len(statuses)} done, {in_words(left)} of work left; results in {place}")


def print_table(table: Table, console: Console) -> None:
    """The whole table, and what is missing in one line."""
    console.print(title(table), style="bold")
    console.print(summary(table))
    for section in sections(table):
        console.print()
        console.print(section.title, style="bold")
        grid = Grid(*section.heads, box=None)
        for row in section.rows:
            grid.add_row(*row, style=_OUTCOMES.get(row[-1], ""))
        console.print(grid)
    for remark in table.remarks:
        console.print(f"Note: {remark}", style="yellow", soft_wrap=True)
    if table.missing:
        names = ", ".join(unit for unit, _ in table.missing[:4])
        more = f" and {len(table.missing) - 4} more" if len(table.missing) > 4 else ""
        console.print(f"Missing: {names}{more}; `hat reproduce --list` says why", soft_wrap=True)


def table_json(table: Table) -> dict[str, Any]:
    """The table's numbers: fractions, by arm and metric."""
    return {
        "schema_version": 1,
        "suite": table.suite,
        "split": table.split,
        "harness": table.harness,
        "scores": {
            arm: {
                name: {**asdict(cell.estimate), "by_seed": {str(s): mean for s, mean in cell.seeds.items()}}
                for name, cell in cells.items()
            }
            for arm, cells in table.cells.items()
        },
        "differences": [
            {"first": first, "second": second, "metrics": {name: asdict(one) for name, one in found.items()}}
            for (first, second), found in table.differences.items()
        ],
        "targets": [asdict(target) for target in table.targets],
        "costs": [asdict(cost) for cost in table.costs],
        "missing": [{"unit": unit, "reason": why} for unit, why in table.missing],
        "remarks": list(table.remarks),
    }
