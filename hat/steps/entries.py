"""What a run knows about each of its steps: one small document a step, in the store."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hat.storage import Store

StepStatus = Literal["ran", "cached", "skipped", "failed"]


@dataclass(frozen=True)
class StepEntry:
    """`runs/<run>/steps/<step>.json`; ``place`` is where the step's outputs are in the store."""

    name: str
    key: str
    status: StepStatus
    seconds: float = 0.0
    place: str = ""
    value: Any = None
    reason: str = ""
    exit_status: int = 0


def write_entry(store: Store, run: str, entry: StepEntry) -> None:
    """Replace the step's entry."""
    text = json.dumps({"schema_version": 1, **asdict(entry)}, indent=2, ensure_ascii=False) + "\n"
    store.put(f"runs/{run}/steps/{entry.name}.json", text.encode("utf-8"))


def read_entry(store: Store, run: str, step: str) -> StepEntry | None:
    """The step's entry, or None when the step has not come to an end yet."""
    key = f"runs/{run}/steps/{step}.json"
    if not store.exists(key):
        return None
    document = json.loads(store.get(key))
    document.pop("schema_version")
    return StepEntry(**document)
