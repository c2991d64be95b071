"""Step `sft`: HSA-SFT of the base model on the validated trajectories."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hat.domains.base import Domain, get_domain
from hat.harness.model import Harness
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
    if settings.distributed.nodes:
        _train_elsewhere(settings, (config, subject, trajectories_dir), model_out, metrics_out)
        return
    # Imported late: importing the steps must not cost the import of torch.
    from hat.steps.training import publish, tokenizer_of, workplace
    from hat.training.preparation import prepare_sft
    from hat.training.sft import train_sft

    harness = about.load_harness(store)
    base = ModelRef.model_validate(about.base)
    base_folder = ModelStore(store).materialise(base)
    packs = prepare_sft(settings, harness, Path(trajectories_dir), tokenizer_of(base_folder))
    with workplace("sft", settings.sft.checkpoint_steps) as place:
        model, _ = train_sft(
            base_folder,
            packs,
            harness,
            settings.augment,
            settings.sft,
            work=place.folder,
            log=place.log,
            seed=settings.seed,
            callbacks=place.callbacks,
            resume_from=place.resume_from,
            hard=_hard_tasks(settings, harness, packs) if settings.sft.stop_accuracy else None,
        )
        publish(model, base, base_folder, place.folder, model_out, metrics_out)


def _hard_tasks(settings: RunConfig, harness: Harness, packs: Sequence[Any]) -> tuple[Domain, list[Any]]:
    """What decides whether training ends early."""
    from hat.training.early_stop import hard_tasks

    domain = get_domain(settings.domain or harness.domain)
    trained = frozenset(one.task.digest for pack in packs for one in (*pack.trajectories, *pack.openings))
    count = settings.sft.stop_tasks
    intents = settings.sft.stop_intents
    return domain, hard_tasks(harness, domain, settings.augment, count, settings.seed, intents, trained)


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
