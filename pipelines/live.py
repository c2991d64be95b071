"""Shows a run while it happens: a live table on a terminal, plain lines elsewhere; always on stderr."""

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hat.runs.progress import Event
from pipelines.board import ENDED, Board, StepState

_MARKS = {"waiting": "·", "running": "▸", "ran": "✓", "cached": "✓", "skipped": "–", "failed": "✗"}
_STYLES = {"failed": "red", "running": "bold", "waiting": "dim", "skipped": "dim"}
_LINE_EVERY_SECONDS = 20.0


class View(Protocol):
    """Something that shows a board."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, board: Board, events: Iterable[Event]) -> None:
        """Take in new events (maybe none) and show where the run is."""


def make_view(console: Console) -> View:
    """The view that fits the console."""
    return TableView(console) if console.is_terminal else LineView(console)


class TableView:
    """A table redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=4, transient=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, board: Board, events: Iterable[Event]) -> None:
        for event in events:
            board.apply(event)
        self._live.update(_table(board))


class LineView:
    """A line when a step starts or ends, and now and then while it runs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_line = time.time()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, board: Board, events: Iterable[Event]) -> None:
        for event in events:
            step = board.apply(event)
            if event.event in ENDED or event.event == "started":
                self._say(board, step)
        running = board.running
        if running and time.time() - self._last_line > _LINE_EVERY_SECONDS:
            self._say(board, running)

    def _say(self, board: Board, step: StepState) -> None:
        self._last_line = time.time()
        parts = [
            f"[{min(board.ended + 1, len(board.steps)):2}/{len(board.steps)}]",
            f"{step.name:9}",
            step.status,
        ]
        if step.status == "running" and step.total:
            parts.append(f"{step.done}/{step.total}")
        if step.status in ENDED or step.total:
            parts.append(f"{step.seconds(time.time()):.0f} s")
        if step.note:
            parts.append(step.note)
        parts.append(f"({_left(board)})")
        self._console.print(" ".join(parts), markup=False, highlight=False)


def _table(board: Board) -> Group:
    """The steps, and below them the time left, which may be longer than any column."""
    now = time.time()
    table = Table.grid(padding=(0, 2))
    for step in board.steps.values():
        count = f"{step.done}/{step.total}" if step.total and step.status == "running" else ""
        seconds = f"{step.seconds(now):.0f} s" if step.status in ("running", "ran", "failed") else ""
        word = "" if step.status in ("waiting", "running", "ran") else step.status
        style = _STYLES.get(step.status, "")
        table.add_row(
            _MARKS[step.status], step.name, count, seconds, f"{word} {step.note}".strip(), style=style
        )
    return Group(table, Text(f"   {_left(board)}", style="dim"))


def _left(board: Board) -> str:
    whole = _about(board.remaining_seconds())
    if not board.may_pass:
        return f"{whole} left"
    screened = _about(board.remaining_seconds(trains=False))
    return f"{screened} left if the model in production passes, {whole} if one is trained"


def _about(seconds: float) -> str:
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"
