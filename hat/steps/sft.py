"""Step `sft`: HSA-SFT of the base model on the validated trajectories."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hat.augment.plan import first_seed
from hat.domains.base import get_domain
from hat.home import hat_home
from hat.models import ModelRef, ModelStore
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps.journal import current_key
from hat.steps.subject import Subject
from hat.trajectories.storage import read_trajectories
from hat.trajectories.twins import read_pairs, training_pairs
from hat.trajectories.validate_rows import TRAJECTORIES_FILE


def run(*, config: str, subject: str, trajectories_dir: str, model_out: str, metrics_out: str) -> None:
    """Fine-tune, store the model once and write its reference and the training log.

    A killed attempt goes on from its last checkpoint in the store.

    Raises:
        BadInput: no trajectories, too few for a pack, or trajectories of another harness.
        BrokenNumbers: a loss or gradient is not finite, or a loss is exactly 0.
    """
    # Imported late: importing the steps must not cost the import of torch.
    from hat.steps.training import publish
    from hat.training.checkpoints import CheckpointsInStore, delete_checkpoints, fetch_last_checkpoint
    from hat.training.plan import plan_packs
    from hat.training.preflight import check_harness
    from hat.training.sft import train_sft
    from hat.training.twin_plan import mix, plan_twin_packs

    settings = RunConfig.read(config)
    about = Subject.read(subject)
    store = open_run_store()
    harness = about.load_harness(store)
    trajectories = read_trajectories(Path(trajectories_dir) / TRAJECTORIES_FILE)
    check_harness(trajectories, harness.digest)
    start = first_seed(settings.seed)
    seeds = [None if settings.sft.control == "fixed" else start + i for i in range(settings.augment.states)]
    packs = plan_packs(
        trajectories,
        seeds,
        settings.augment.tasks_per_state,
        settings.sft.openings_per_state,
        settings.seed,
    )
    if settings.generate.twin_pairs:
        domain = get_domain(settings.domain or harness.domain)
        pairs = training_pairs(harness, domain, settings.generate.twin_pairs, settings.seed)
        twins = plan_twin_packs(read_pairs(Path(trajectories_dir), pairs), settings.augment.tasks_per_state)
        packs = mix(packs, twins, settings.seed)
    base = ModelRef.model_validate(about.base)
    base_folder = ModelStore(store).materialise(base)
    key = current_key()
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
