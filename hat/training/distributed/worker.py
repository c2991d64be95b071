"""One training process: ``torchrun --module hat.training.distributed.worker KEY``."""

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import AutoTokenizer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hat.errors import HatError
from hat.models import ModelRef, ModelStore
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.runs.watch import die_with_runner
from hat.steps.subject import Subject
from hat.training.distributed.checkpoints import (
    ShardsInStore,
    checkpoint_step,
    discard_parts_after,
    fetch_whole_checkpoint,
)
from hat.training.distributed.exchange import CONFIG, SUBJECT, Exchange
from hat.training.model_folder import write_model_folder
from hat.training.preparation import prepare_sft
from hat.training.sft import train_sft

_PROGRESS_SECONDS = 5.0


class ProgressInStore(TrainerCallback):
    """Tells the step, which runs elsewhere, how far training is; every few seconds at most."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._told = 0.0

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        last = state.global_step >= state.max_steps
        if last or time.monotonic() - self._told >= _PROGRESS_SECONDS:
            self._told = time.monotonic()
            self._exchange.put_progress(state.global_step, state.max_steps)


def main(key: str) -> int:
    """Train with the other processes and, as the first of them, store the result; the exit status.

    A failure that a user can mend is stored for the step's message; torchrun ends the other processes.
    """
    die_with_runner()
    exchange = Exchange(open_run_store(), key)
    try:
        with TemporaryDirectory(prefix="hat-worker-") as folder:
            _train(exchange, Path(folder))
    except HatError as error:
        exchange.put_error(error)
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0


def _train(exchange: Exchange, work: Path) -> None:
    rank, processes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    inputs = exchange.get_inputs(work)
    settings, about = RunConfig.read(inputs / CONFIG), Subject.read(inputs / SUBJECT)
    harness = about.load_harness(exchange.store)
    base = ModelRef.model_validate(about.base)
    base_folder = ModelStore(exchange.store).materialise(base)
    packs = prepare_sft(settings, harness, inputs, AutoTokenizer.from_pretrained(base_folder))
    log = work / "log.jsonl"
    exchanged = (exchange.store, exchange.checkpoints)
    checkpoint = fetch_whole_checkpoint(*exchanged, work, log, processes=processes)
    discard_parts_after(*exchanged, checkpoint_step(checkpoint), process=rank, processes=processes)
    callbacks: list[TrainerCallback] = [ShardsInStore(*exchanged, log, process=rank, processes=processes)]
    if rank == 0:
        callbacks.append(ProgressInStore(exchange))
    model, _ = train_sft(
        base_folder,
        packs,
        harness,
        settings.augment,
        settings.sft,
        work=work,
        log=log,
        seed=settings.seed,
        callbacks=callbacks,
        resume_from=checkpoint,
        deepspeed=settings.distributed.deepspeed(),
        processes=processes,
    )
    if rank == 0:
        write_model_folder(model, base_folder, work / "model")
        reference = ModelStore(exchange.store).publish(work / "model", base=base.base, notes=base.notes)
        exchange.put_result(reference.model_dump(mode="json"), log)
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
