"""Step `sft`: HSA-SFT of the base model on the validated trajectories."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hat.home import hat_home
from hat.models import ModelRef, ModelStore
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps.journal import current_key
from hat.steps.subject import Subject


def run(*, config: str, subject: str, trajectories_dir: str, model_out: str, metrics_out: str) -> None:
    """Fine-tune, store the model once and write its reference and the training log.

    A killed attempt goes on from its last checkpoint in the store.

    Raises:
        BadInput: no trajectories, too few for a pack, or trajectories of another harness.
        BrokenNumbers: a loss or gradient is not finite, or a loss is exactly 0.
    """
    settings = RunConfig.read(config)
    about = Subject.read(subject)
    store = open_run_store()
    key = current_key()
    if settings.distributed.nodes:
        _train_elsewhere(settings, (config, subject, trajectories_dir), model_out, metrics_out)
        return
    # Imported late: importing the steps must not cost the import of torch.
    from hat.steps.training import publish
    from hat.training.checkpoints import CheckpointsInStore, delete_checkpoints, fetch_last_checkpoint
    from hat.training.preparation import prepare_sft
    from hat.training.sft import train_sft

    harness = about.load_harness(store)
    packs = prepare_sft(settings, harness, Path(trajectories_dir))
    base = ModelRef.model_validate(about.base)
    base_folder = ModelStore(store).materialise(base)
    with _work_folder(key) as work:
        log = work / "log.jsonl"
        prefix = f"checkpoints/{key}" if key else None
        model, _ = train_sft(
            base_folder,
            packs,
            harness,
            settings.augment,
            settings.sft,
            work=work,
            log=log,
            seed=settings.seed,
            callbacks=[CheckpointsInStore(store, prefix, log)] if prefix else [],
            resume_from=fetch_last_checkpoint(store, prefix, work, log) if prefix else None,
        )
        publish(model, base, base_folder, work, model_out, metrics_out)
    if prefix:
        delete_checkpoints(store, prefix)


def _train_elsewhere(
    settings: RunConfig, inputs: tuple[str, str, str], model_out: str, metrics_out: str
) -> None:
    """Train in other processes; see `hat.training.distributed`."""
    from hat.training.distributed.exchange import LOG, Exchange
    from hat.training.distributed.run import store_inputs, train_elsewhere

    exchange = Exchange(open_run_store(), current_key() or uuid.uuid4().hex)
    store_inputs(exchange, *inputs)
    reference = exchange.result() or train_elsewhere(exchange, settings)
    ModelRef.model_validate(reference).write(Path(model_out))
    exchange.store.get_file(f"{exchange.prefix}/{LOG}", Path(metrics_out))
    exchange.clear()
    for key in exchange.store.list(exchange.checkpoints):
        exchange.store.delete(key)


@contextmanager
def _work_folder(key: str | None) -> Iterator[Path]:
    """An empty folder for the Trainer. It is named after the step, so that what a killed attempt left is cleared."""
    folder = hat_home() / "training" / f"sft-{key or uuid.uuid4().hex}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
