"""Step `rl`: reinforcement learning on episodes under original and augmented harness states."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hat.files import write_json_atomic
from hat.harness.model import Harness
from hat.models import ModelRef
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps.subject import Subject

if TYPE_CHECKING:
    from hat.training.rl import RolloutEngine


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

    ``trajectories_dir`` is not read yet: rollouts are the only data. ``tasks_out`` gets the digests of the
    tasks rolled out, which no evaluation may use.

    Raises:
        BadInput: the domain has too few tasks.
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
    from hat.steps.training import open_models, publish, training_folder
    from hat.training.rl import train_rl
    from hat.training.rollouts import plan_groups

    harness = Subject.read(subject).load_harness(open_run_store())
    domain = get_domain(settings.domain or harness.domain)
    groups = plan_groups(harness, domain, settings.rl, settings.augment, settings.seed)
    _write_tasks(Path(tasks_out), {group.task.digest for group in groups})
    source = open_models().materialise(start)
    with (
        training_folder("rl", settings.rl.checkpoint_steps) as (work, resume_from),
        _engine(settings, source, harness, start.digest) as engine,
    ):
        model, _ = train_rl(
            source,
            groups,
            domain,
            settings.rl,
            work=work,
            log=work / "log.jsonl",
            seed=settings.seed,
            resume_from=resume_from,
            engine=engine,
        )
        publish(model, start, source, work, model_out, metrics_out)
    return None


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
