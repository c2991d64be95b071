"""A log of every use of what is kept for the test split: it lies under HAT_HOME and is only ever added to."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hat.augment.state import HarnessState
from hat.files import as_environment_failure
from hat.harness.model import Harness
from hat.home import hat_home

if TYPE_CHECKING:
    from hat.augment.plan import PlannedState

FILE_NAME = "test-items.jsonl"


def log_test_use(
    what: str, harness: Harness, states: "Sequence[HarnessState | PlannedState]", folder: Path | None = None
) -> None:
    """Add one line: when, what for, which harness, how many states of the test split and with which families.

    Raises:
        EnvironmentFailure: the file cannot be written.
    """
    families: dict[str, int] = {}
    for state in states:
        for family in state.families:
            families[family] = families.get(family, 0) + 1
    line = {
        "schema_version": 1,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "use": what,
        "harness": f"{harness.name}@{harness.version}",
        "states": len(states),
        "families": dict(sorted(families.items())),
    }
    path = (folder or hat_home()) / FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # One write to a file opened for appending: two commands at once never mix their lines.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise as_environment_failure(error, path) from error
