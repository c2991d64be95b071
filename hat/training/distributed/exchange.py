"""What the step and the training processes hand each other, through the store: they share no disk."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hat.errors import EnvironmentFailure, HatError
from hat.storage import Store
from hat.trajectories.validate_rows import TRAJECTORIES_FILE

CONFIG, SUBJECT, LOG = "config.json", "subject.json", "log.jsonl"


@dataclass(frozen=True)
class Exchange:
    """`distributed/<key>/` in the store, for the work of one step key."""

    store: Store
    key: str

    @property
    def prefix(self) -> str:
        """Where everything of the job is."""
        return f"distributed/{self.key}"

    @property
    def checkpoints(self) -> str:
        """Where its checkpoints are: the same as when the step trains by itself."""
        return f"checkpoints/{self.key}"

    def put_inputs(self, config: Path, subject: Path, trajectories_dir: Path) -> None:
        """Store what the processes read; nothing happens when an earlier attempt did. Forgets its error."""
        with TemporaryDirectory(prefix="hat-exchange-") as folder:
            shutil.copyfile(config, Path(folder) / CONFIG)
            shutil.copyfile(subject, Path(folder) / SUBJECT)
            shutil.copyfile(trajectories_dir / TRAJECTORIES_FILE, Path(folder) / TRAJECTORIES_FILE)
            self.store.put_tree(Path(folder), f"{self.prefix}/inputs")
        self.store.delete(f"{self.prefix}/error.json")

    def get_inputs(self, folder: Path) -> Path:
        """Copy the inputs to a new folder below ``folder`` and return it."""
        target = folder / "inputs"
        self.store.get_tree(f"{self.prefix}/inputs", target)
        return target

    def put_result(self, model: dict[str, Any], log: Path) -> None:
        """Store the training log, then the trained model's reference: with it, the result exists."""
        self.store.put_file(log, f"{self.prefix}/{LOG}")
        self._put("result.json", {"schema_version": 1, "model": model})

    def result(self) -> dict[str, Any] | None:
        """The trained model's reference, or None while there is none."""
        document = self._get("result.json")
        return None if document is None else document["model"]

    def put_progress(self, done: int, total: int) -> None:
        """Store how far training is."""
        self._put("progress.json", {"schema_version": 1, "done": done, "total": total})

    def progress(self) -> tuple[int, int] | None:
        """Optimiser steps done and in total, or None before the first."""
        document = self._get("progress.json")
        return None if document is None else (int(document["done"]), int(document["total"]))

    def put_error(self, error: HatError) -> None:
        """Store why training stopped, for the message that the user reads."""
        self._put("error.json", {"schema_version": 1, "message": str(error)})

    def error(self) -> str:
        """Why training stopped, as a process said; empty when none did."""
        document = self._get("error.json")
        return "" if document is None else str(document["message"])

    def require_result(self) -> dict[str, Any]:
        """The trained model's reference. Raises `EnvironmentFailure` when the processes left none."""
        found = self.result()
        if found is None:
            raise EnvironmentFailure(
                self.error() or "the training processes ended without a result", where="sft"
            )
        return found

    def clear(self) -> None:
        """Forget everything but the checkpoints, once the step has the result."""
        self.store.delete_tree(f"{self.prefix}/inputs")
        for key in self.store.list(self.prefix):
            self.store.delete(key)

    def _put(self, name: str, document: dict[str, Any]) -> None:
        self.store.put(f"{self.prefix}/{name}", json.dumps(document).encode("utf-8"))

    def _get(self, name: str) -> Any:
        key = f"{self.prefix}/{name}"
        return json.loads(self.store.get(key)) if self.store.exists(key) else None
