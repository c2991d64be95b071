"""The progress file of a run: an append-only list of events that steps write and the command line shows."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hat.runs import places

FILE_NAME = "progress.jsonl"


@dataclass(frozen=True)
class Event:
    """One line of the progress file; ``at`` is seconds since the epoch."""

    at: float
    step: str
    event: str  # started | progress | ran | cached | skipped | failed
    done: int = 0
    total: int = 0
    note: str = ""
    value: str = ""
    exit_status: int = 0


def report(step: str, done: int, total: int, note: str = "") -> None:
    """Say how far a step has come, in its own units. Does nothing outside of a run."""
    write(Event(time.time(), step, "progress", done, total, note))


def write(event: Event) -> None:
    """Append one event in a single write, so that concurrent writers never mix lines."""
    run = places.run_id()
    if not run:
        return
    folder = places.run_folder(run)
    if not folder.is_dir():  # a pod on a cluster: nobody watches this disk
        return
    line = json.dumps(event.__dict__, ensure_ascii=False) + "\n"
    with contextlib.suppress(OSError):  # progress is a courtesy: a full disk is reported by the work itself
        descriptor = os.open(folder / FILE_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line.encode("utf-8"))
        finally:
            os.close(descriptor)


class Reader:
    """Reads the events that were appended since the last call."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._offset = 0

    def skip_to_end(self) -> None:
        """Forget what an earlier attempt of the run wrote."""
        self._offset = self._path.stat().st_size if self._path.exists() else 0

    def events(self) -> Iterator[Event]:
        """The complete lines not yet read; a line still being written waits for the next call."""
        if not self._path.exists():
            return
        with open(self._path, "rb") as handle:
            handle.seek(self._offset)
            for line in handle:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield Event(**json.loads(line))
