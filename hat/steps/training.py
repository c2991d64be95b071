"""What the training steps share: where checkpoints are, and how a result is stored."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase, TrainerCallback

from hat.home import hat_home
from hat.models import ModelRef, ModelStore
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps.journal import current_key
from hat.steps.subject import Subject
from hat.training.checkpoints import CheckpointsInStore, delete_checkpoints, fetch_last_checkpoint
from hat.training.collator import PackCollator
from hat.training.model_folder import write_model_folder
from hat.training.preparation import collator, prepare_sft

LOG = "log.jsonl"


def open_models() -> ModelStore:
    """The models of the run's store."""
    return ModelStore(open_run_store())


@dataclass(frozen=True)
class Workplace:
    """Where a stage trains."""

    folder: Path
    """For the Trainer."""
    resume_from: Path | None
    """The checkpoint to go on from."""
    callbacks: tuple[TrainerCallback, ...]
    """What keeps checkpoints."""

    @property
    def log(self) -> Path:
        """The training log; already that of the checkpoint, where there is one."""
        return self.folder / LOG


@contextmanager
def workplace(stage: str, checkpoint_steps: int) -> Iterator[Workplace]:
    """An empty folder for a stage, with what an earlier attempt left of it in the store.

    Checkpoints go to ``checkpoints/<the step's key>`` in the store and are deleted once the stage is done: when it
    breaks or is killed, the last good one stays. The folder is named after the step, so that what a killed attempt
    left in it is cleared.
    """
    key = current_key() if checkpoint_steps else None
    folder = hat_home() / "training" / f"{stage}-{key or uuid.uuid4().hex}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store, prefix, log = open_run_store(), f"checkpoints/{key}", folder / LOG
    try:
        if key is None:
            yield Workplace(folder, None, ())
        else:
            last = fetch_last_checkpoint(store, prefix, folder, log)
            yield Workplace(folder, last, (CheckpointsInStore(store, prefix, log),))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if key is not None:
        delete_checkpoints(store, prefix)


def tokenizer_of(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a model folder."""
    return AutoTokenizer.from_pretrained(folder)


def replayed_packs(
    every: int, settings: RunConfig, about: Subject, trajectories_dir: str, folder: Path
) -> PackCollator | None:
    """The packs that SFT learnt from, for a stage that replays some every so many steps; None where it does not.

    ``folder`` is that of the model in training.

    Raises:
        BadInput: see `hat.training.preparation.prepare_sft`.
    """
    if not every:
        return None
    harness, tokenizer = about.load_harness(open_run_store()), tokenizer_of(folder)
    packs = prepare_sft(settings, harness, Path(trajectories_dir), tokenizer)
    return collator(packs, settings, harness, tokenizer)


def publish(
    model: Any, start: ModelRef, source: Path, work: Path, model_out: str, metrics_out: str, note: str = ""
) -> None:
    """Store the trained model, and write its reference and the log that ``work`` holds.

    ``start`` and its folder ``source`` are the model that the stage began with. ``note`` is added to its notes.
    """
    write_model_folder(model, source, work / "model")
    notes = "; ".join(text for text in (start.notes, note) if text)
    reference = open_models().publish(work / "model", base=start.base, notes=notes)
    reference.write(Path(model_out))
    shutil.copyfile(work / LOG, metrics_out)
