"""Checkpoints of several processes in the store: each stores what it wrote, and all of them make one checkpoint."""

import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hat.storage import Store
from hat.training.checkpoints import LOG_NAME

_KEPT = 2
"""A process's newest checkpoint may be one that another has not finished storing: the one before stays too."""


class ShardsInStore(TrainerCallback):
    """Copies this process's part of each checkpoint to ``<prefix>/checkpoint-<step>/<process>-of-<processes>``."""

    def __init__(self, store: Store, prefix: str, log: Path, *, process: int, processes: int) -> None:
        self._store = store
        self._prefix = prefix
        self._log = log
        self._part = part_name(process, processes)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        folder = Path(args.output_dir or ".") / f"checkpoint-{state.global_step}"
        shutil.copyfile(self._log, folder / LOG_NAME)
        self._store.put_tree(folder, f"{self._prefix}/{folder.name}/{self._part}")
        older = [step for step in _steps(self._store, self._prefix) if step < state.global_step]
        for step in older[: -_KEPT + 1]:
            self._store.delete_tree(f"{self._prefix}/checkpoint-{step}/{self._part}")


def fetch_whole_checkpoint(
    store: Store, prefix: str, folder: Path, log: Path, *, processes: int
) -> Path | None:
    """The newest checkpoint of which every process's part is stored, in ``folder``; None when there is none.

    ZeRO's parts fit the number of processes that wrote them, so those of another number do not count.
    """
    parts = [part_name(process, processes) for process in range(processes)]
    for step in reversed(_steps(store, prefix)):
        places = [f"{prefix}/checkpoint-{step}/{part}" for part in parts]
        if any(store.tree(place) is None for place in places):
            continue
        target = folder / f"checkpoint-{step}"
        for place in reversed(places):  # the first process's files last: its log and its state count
            part = folder / place.rsplit("/", 1)[-1]
            store.get_tree(place, part)
            shutil.copytree(part, target, dirs_exist_ok=True)
            shutil.rmtree(part)
        shutil.copyfile(target / LOG_NAME, log)
        return target
    return None


def discard_parts_after(store: Store, prefix: str, step: int, *, process: int, processes: int) -> None:
    """Delete this process's parts of checkpoints after ``step``, which a killed training left without the others'.

    The resumed training writes them again. Kept, they would block that, and an old part beside a
    new one of another process would pass for a whole checkpoint. To be called before training
    starts: its first step waits for all processes, so no new part is stored before every old one is gone.
    """
    part = part_name(process, processes)
    for later in _steps(store, prefix):
        if later > step:
            store.delete_tree(f"{prefix}/checkpoint-{later}/{part}")


def checkpoint_step(folder: Path | None) -> int:
    """The step of a checkpoint's folder; 0 when training starts from none."""
    return int(folder.name.removeprefix("checkpoint-")) if folder else 0


def part_name(process: int, processes: int) -> str:
    """Name of one process's part."""
    return f"{process}-of-{processes}"


def _steps(store: Store, prefix: str) -> list[int]:
    names = {key.removeprefix(f"{prefix}/").split("/")[0] for key in store.list(prefix)}
    steps = [name.removeprefix("checkpoint-") for name in names if name.startswith("checkpoint-")]
    return sorted(int(step) for step in steps if step.isdigit())
