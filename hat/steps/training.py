"""What the training steps share: where checkpoints are, and how a result is stored."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformers.trainer_utils import get_last_checkpoint

from hat.home import hat_home
from hat.models import ModelRef, ModelStore
from hat.runs.places import open_run_store
from hat.steps.journal import current_key
from hat.training.model_folder import write_model_folder


def open_models() -> ModelStore:
    """The models of the run's store."""
    return ModelStore(open_run_store())


@contextmanager
def training_folder(stage: str, checkpoint_steps: int) -> Iterator[tuple[Path, Path | None]]:
    """A folder for a stage's log and checkpoints, and the checkpoint to go on from.

    With checkpoints it is named after the step's key, so that a resumed run finds it, and it is deleted
    only once
    the stage is done: when the stage breaks, the last good checkpoint stays.
    """
    parent = hat_home() / "training"
    parent.mkdir(parents=True, exist_ok=True)
    key = current_key()
    if checkpoint_steps == 0 or key is None:
        with TemporaryDirectory(dir=parent, prefix=f"{stage}-") as folder:
            yield Path(folder), None
        return
    kept = parent / f"{stage}-{key}"
    kept.mkdir(exist_ok=True)
    last = get_last_checkpoint(str(kept))
    yield kept, Path(last) if last else None
    shutil.rmtree(kept, ignore_errors=True)


def publish(model: Any, start: ModelRef, source: Path, work: Path, model_out: str, metrics_out: str) -> None:
    """Store the trained model, and write its reference and the log that ``work`` holds.

    ``start`` and its folder ``source`` are the model that the stage began with.
    """
    write_model_folder(model, source, work / "model")
    reference = open_models().publish(work / "model", base=start.base, notes=start.notes)
    reference.write(Path(model_out))
    shutil.copyfile(work / "log.jsonl", metrics_out)
