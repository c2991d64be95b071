"""Reading and writing trajectories: one JSON document a line."""

import json
from collections.abc import Iterable
from pathlib import Path

from hat.errors import BadInput
from hat.files import write_text_atomic
from hat.trajectories.record import Trajectory


def read_trajectories(path: Path) -> list[Trajectory]:
    """All trajectories of a file.

    Raises:
        BadInput: the file is absent, or a line is not a trajectory (its number is named).
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput("no such file", where=str(path), mend="The step `generate` writes it.")
    trajectories = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            trajectories.append(Trajectory.from_json(json.loads(line)))
        except (json.JSONDecodeError, BadInput) as error:
            message = error.what if isinstance(error, BadInput) else "not JSON"
            raise BadInput(message, where=f"{path}:{number}") from error
    return trajectories


def write_trajectories(path: Path, trajectories: Iterable[Trajectory]) -> str:
    """Write the file atomically; returns its text."""
    text = "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in trajectories)
    write_text_atomic(path, text)
    return text
