"""Step `rl`: reinforcement learning on episodes under original and augmented harness states."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hat.domains.base import Domain
from hat.files import canonical_json, read_json, write_json_atomic
from hat.harness.model import Harness
from hat.models import ModelRef
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store, run_id
from hat.steps.journal import remember
from hat.steps.subject import Subject

if TYPE_CHECKING:
    from hat.training.mixture import Unit
    from hat.training.rl import RolloutEngine
    from hat.training.rollouts import Group

SCREENING = "screening.json"
"""How often each task was solved when it was tried before reinforcement learning."""


def run(
    *,
    config: str,
    subject: str,
    model_in: str,
    trajectories_dir: str,
    model_out: str,
    metrics_out: str,
    tasks_out: str,
) -> None:
    """Train, store the result once and write its reference, the training log and the tasks it was trained on.

    ``trajectories_dir`` is read where supervised packs are replayed. ``tasks_out`` gets the digests of the tasks
    rolled out, which no evaluation may use.

    Raises:
        BadInput: the domain has too few tasks, none teaches anything, or scoring one fails.
        BrokenNumbers: a reward, KL, loss or gradient is not finite.
    """
    settings = RunConfig.read(config)
    start = ModelRef.read(Path(model_in))
    if settings.rl.steps == 0:
        from hat.training.metrics import write_passed_through

        start.write(Path(model_out))
        _write_tasks(Path(tasks_out), set())
        return write_passed_through("rl", Path(metrics_out), "rl.steps is 0")

    from hat.domains.base import get_domain
    from hat.steps.training import open_models, publish, replayed_packs, workplace
    from hat.training.rl import train_rl
    from hat.training.rollouts import plan_groups

    about = Subject.read(subject)
    harness = about.load_harness(open_run_store())
    domain = get_domain(settings.domain or harness.domain)
    source = open_models().materialise(start)
    if settings.rl.mixed:
        groups = _mixed_groups(settings, harness, domain, start, source)
    else:
        groups = plan_groups(harness, domain, settings.rl, settings.augment, settings.seed)
    _write_tasks(Path(tasks_out), {group.task.digest for group in groups})
    with (
        workplace("rl", settings.rl.checkpoint_steps) as place,
        _engine(settings, source, harness, start.digest) as engine,
    ):
        model, _ = train_rl(
            source,
            groups,
            domain,
            settings.rl,
            work=place.folder,
            log=place.log,
            seed=settings.seed,
            callbacks=place.callbacks,
            resume_from=place.resume_from,
            replayed=replayed_packs(settings.rl.replay_every, settings, about, trajectories_dir, source),
            engine=engine,
        )
        note = "rejection-sampled SFT in place of RL" if settings.rl.method == "rejection_sft" else ""
        publish(model, start, source, place.folder, model_out, metrics_out, note)
    return None


def _mixed_groups(
    settings: RunConfig, harness: Harness, domain: Domain, start: ModelRef, source: Path
) -> "list[Group]":
    """Composed groups, of tasks that were tried where that is asked for: once for the same model and settings."""
    from hat.training.mixture import compose, plan_units

    units = plan_units(harness, domain, settings.rl, settings.augment, settings.seed)
    if settings.rl.screen_tasks:
        units = _screened(units, settings, harness, domain, start, source)
    return compose(units, settings.rl, settings.seed)


def _screened(
    units: "list[Unit]", settings: RunConfig, harness: Harness, domain: Domain, start: ModelRef, source: Path
) -> "list[Unit]":
    """The units that teach something; what became of all goes to the run's folder in the store."""
    from hat.agent.policies.local import load_for_decoding
    from hat.training.screening import keep_unsettled, screening_report, solved_counts

    def work(folder: Path) -> None:
        groups = [group for unit in units for group in unit.groups]
        counts = solved_counts(load_for_decoding(source), groups, domain, settings.rl, settings.seed)
        write_json_atomic(folder / SCREENING, {"schema_version": 1, "solved": counts})

    parts = {
        "code_version": settings.code_version,
        "model": start.digest,
        "harness": harness.digest,
        "rl": settings.rl.model_dump(mode="json"),
        "augment": settings.augment.model_dump(mode="json"),
        "seed": settings.seed,
        "domain": settings.domain,
    }
    with TemporaryDirectory(prefix="hat-screening-") as place:
        folder = Path(place)
        remember(open_run_store(), "screening", parts, folder, work)
        solved = read_json(folder / SCREENING)["solved"]
    kept = keep_unsettled(units, solved, settings.rl.screen_rollouts)
    document = {"schema_version": 1, **screening_report(units, solved, kept)}
    if run_id():
        open_run_store().put(f"runs/{run_id()}/{SCREENING}", canonical_json(document).encode())
    return kept


@contextmanager
def _engine(
    settings: RunConfig, source: Path, harness: Harness, digest: str
) -> "Iterator[RolloutEngine | None]":
    """vLLM for the rollouts, where the settings ask for it."""
    if settings.rl.rollouts == "local":
        yield None
        return
    from hat.serving.weight_sync import synced_server
    from hat.training.rl import RolloutEngine

    arguments = settings.rl.engine_arguments
    with synced_server(source, harness, digest, settings.export, settings.engine, arguments) as server:
        yield RolloutEngine(server, settings.engine.concurrency, settings.engine.answer_seconds)


def _write_tasks(path: Path, digests: set[str]) -> None:
    write_json_atomic(path, {"schema_version": 1, "task_digests": sorted(digests)})
