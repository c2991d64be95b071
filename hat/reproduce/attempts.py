"""Time and memory of a unit's process over all its attempts, also those that were killed."""

import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hat.files import read_json, write_json_atomic

FILE = "attempts.json"


class Attempt(BaseModel):
    """One process, as far as it was seen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    started: str
    """UTC time."""
    code_version: str
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0


def read_attempts(folder: Path, code_version: str) -> list[Attempt]:
    """The attempts noted in a unit's working folder that were made with this code; others started from nothing."""
    path = folder / FILE
    if not path.is_file():
        return []
    noted = [Attempt.model_validate(each) for each in read_json(path)["attempts"]]
    return [each for each in noted if each.code_version == code_version]


def note_attempts(folder: Path, attempts: Sequence[Attempt]) -> None:
    """Replace the notes."""
    document = {"schema_version": 1, "attempts": [each.model_dump() for each in attempts]}
    write_json_atomic(folder / FILE, document)


def seen_now(pid: int) -> tuple[float, int]:
    """Processor seconds and largest resident memory in bytes of a living process; zeros where the system does not tell.

    From proc(5): fields 14 and 15 of ``stat``, ``VmHWM`` of ``status``.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0, 0
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    peak = next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), 0)
    return seconds, 1024 * peak
