"""Checkpoints of a training stage in the store, so that a killed step resumes even on an empty disk."""

import re
import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.storage import Store

LOG_NAME = "log.jsonl"
SETTINGS_NAME = "hat_settings.json"
_NAME = re.compile(r"^checkpoint-(\d+)$")


class SettingsInCheckpoints(TrainerCallback):
    """Writes into each checkpoint what it was trained with, so that no run with other settings goes on from it.

    Give this callback before those that copy checkpoints.
    """

    def __init__(self, **settings: Any) -> None:
        self._document = {"schema_version": 1, **settings}

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        folder = Path(args.output_dir or ".") / f"checkpoint-{state.global_step}"
        write_json_atomic(folder / SETTINGS_NAME, self._document)

    def check(self, checkpoint: Path | None) -> None:
        """Raises `BadInput`, naming what differs, when ``checkpoint`` was made with other settings."""
        if checkpoint is None:
            return
        path = checkpoint / SETTINGS_NAME
        there = _flat(read_json(path)) if path.is_file() else {}
        mine = _flat(self._document)
        differing = sorted(key for key in there.keys() | mine.keys() if there.get(key) != mine.get(key))
        if differing:
            name = differing[0]
            what = (
                f"{name} is {there.get(name)!r} in it and {mine.get(name)!r} now"
                if there
                else "it names none"
            )
            raise BadInput(
                f"the checkpoint was made with other settings: {what}",
                where=str(checkpoint),
                mend="Go on with the settings that it was made with, or delete it to start afresh.",
            )


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


def _flat(document: Any, prefix: str = "") -> dict[str, Any]:
    """Dotted key -> value."""
    if not isinstance(document, dict):
        return {prefix[:-1]: document}
    return {
        key: value
        for name, part in document.items()
        for key, value in _flat(part, f"{prefix}{name}.").items()
    }
