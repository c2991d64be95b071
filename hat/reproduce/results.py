"""The result file of a unit: JSON lines, first a header that says where it comes from, then one line an item.

A measurement has a line for each item, a training one for each logged step. Files are small, so that they can be kept
in Git, and complete: the table is made from them alone.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hat.errors import BadInput
from hat.files import canonical_json, write_text_atomic
from hat.schema_version import SchemaVersion
from hat.validation import first_problem

SUFFIX = ".jsonl"


class StepCost(BaseModel):
    """What the step journal says of one step of the unit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    status: str
    """ran; cached or skipped where its result was there already."""
    seconds: float
    """Wall seconds of the work, also where it was done earlier."""


class Provenance(BaseModel):
    """How a result came to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commit: str
    """Git commit of the code; empty outside of a checkout."""
    dirty: bool
    """Whether the code differed from that commit."""
    code_version: str
    """SHA-256 of the code."""
    command: str
    """What was typed."""
    hardware: str
    """Processor, cores and memory, accelerator where there is one."""
    platform: str
    """System, Python and the versions of the model libraries."""
    started: str
    """UTC time of the first attempt."""
    finished: str
    """UTC time of the end."""
    attempts: int
    """1, plus one for each time that it was cut off."""
    wall_seconds: float
    """Over all attempts."""
    cpu_seconds: float
    """User and system time over all attempts."""
    peak_memory_bytes: int
    """Largest resident memory of the unit's process in any attempt."""
    steps: tuple[StepCost, ...] = ()
    """What was done, in order."""

    @property
    def partial(self) -> bool:
        """Whether the costs leave out work that an earlier process did: the last step was only fetched."""
        return bool(self.steps) and self.steps[-1].status != "ran"


class Header(BaseModel):
    """The first line of a result file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: SchemaVersion = 1
    unit: str
    kind: Literal["train", "evaluate"]
    suite: str
    name: str
    """The stage that was trained, or the arm that was measured."""
    seed: int
    measurement: str = ""
    split: str
    """Whose items are asked: dev or test."""
    harness: str
    """NAME@VERSION that the model is trained on."""
    recipe_digest: str
    """Of the settings behind the result, whatever the seed; see `hat.reproduce.units.recipe_digest`."""
    base_digest: str
    """The base model."""
    start_digest: str
    """The model that the unit worked on."""
    model: dict[str, Any] | None = None
    """ModelRef of the model that was trained."""
    settings: dict[str, Any]
    """Of the stage, or of the evaluation."""
    provenance: Provenance


class Result(BaseModel):
    """A whole file."""

    model_config = ConfigDict(frozen=True)

    header: Header
    rows: tuple[dict[str, Any], ...]


def result_path(folder: Path, unit: str) -> Path:
    """Where a unit's result lies."""
    return folder / f"{unit}{SUFFIX}"


def write_result(folder: Path, header: Header, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write the file whole or not at all."""
    lines = [canonical_json(header.model_dump(mode="json")), *map(canonical_json, rows)]
    path = result_path(folder, header.unit)
    write_text_atomic(path, "\n".join(lines) + "\n")
    return path


def read_result(path: Path) -> Result:
    """Read one file.

    Raises:
        BadInput: absent, malformed, or named after another unit.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        header = Header.model_validate_json(lines[0])
        rows = tuple(json.loads(line) for line in lines[1:])
    except (OSError, UnicodeDecodeError, IndexError, json.JSONDecodeError, ValidationError) as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else error
        mend = "Delete it, and its unit runs again."
        raise BadInput(f"not a result of `hat reproduce`: {problem}", where=str(path), mend=mend) from error
    if path.name != f"{header.unit}{SUFFIX}":
        raise BadInput(f"holds the result of unit {header.unit}", where=str(path), mend="Rename it.")
    return Result(header=header, rows=rows)


def read_results(folder: Path) -> list[Result]:
    """All results below a folder, by unit. Raises `BadInput` where there is no folder or a file is malformed."""
    if not folder.is_dir():
        raise BadInput("no such folder", where=str(folder), mend="`hat reproduce --out DIR` makes one.")
    return [read_result(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
