"""Checkpoints of a training stage in the store, so that a killed step resumes even on an empty disk."""

import re
import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hat.storage import Store

LOG_NAME = "log.jsonl"
_NAME = re.compile(r"^checkpoint-(\d+)$")


class CheckpointsInStore(TrainerCallback):
    """Copies each checkpoint that the Trainer saved to ``<prefix>/checkpoint-<step>`` and drops the ones before it.

    The training log goes with it, so that a resumed run's log is whole. The store writes a
    tree's manifest last, so a checkpoint is complete or not there.
    """

    def __init__(self, store: Store, prefix: str, log: Path) -> None:
        self._store = store
        self._prefix = prefix
        self._log = log

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        name = f"checkpoint-{state.global_step}"
        shutil.copyfile(self._log, Path(args.output_dir) / name / LOG_NAME)
        older = [key for key in stored_checkpoints(self._store, self._prefix) if key != name]
        self._store.put_tree(Path(args.output_dir) / name, f"{self._prefix}/{name}")
        for key in older:
            self._store.delete_tree(f"{self._prefix}/{key}")


def stored_checkpoints(store: Store, prefix: str) -> list[str]:
    """Names of the complete checkpoints below ``prefix``, oldest first."""
    names = {key[len(prefix) + 1 :].split("/")[0] for key in store.list(prefix)}
    complete = [name for name in names if _NAME.match(name) and store.tree(f"{prefix}/{name}") is not None]
    return sorted(complete, key=_step)


def fetch_last_checkpoint(store: Store, prefix: str, folder: Path, log: Path) -> Path | None:
    """The newest complete checkpoint, in ``folder``, and its training log at ``log``; None when there is none."""
    names = stored_checkpoints(store, prefix)
    if not names:
        return None
    target = folder / names[-1]
    store.get_tree(f"{prefix}/{names[-1]}", target)
    shutil.copyfile(target / LOG_NAME, log)
    return target


def delete_checkpoints(store: Store, prefix: str) -> None:
    """Forget a stage's checkpoints, once its result is stored."""
    for key in store.list(prefix):
        store.delete(key)


def _step(name: str) -> int:
    match = _NAME.match(name)
    assert match is not None
    return int(match.group(1))
