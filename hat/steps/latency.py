"""Step `latency`: adds to the evidence how long the candidate takes from question to final reply."""

import shutil
from pathlib import Path
from typing import Any

from hat.domains.base import get_domain
from hat.errors import EnvironmentFailure
from hat.files import write_json_atomic
from hat.models import ModelRef, ModelStore
from hat.promotion.evidence import LATENCY
from hat.promotion.policy import parse_policies
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.runs.progress import report
from hat.steps.subject import Subject

STEP = "latency"


def run(*, config: str, subject: str, model_in: str, evidence_in_dir: str, evidence_out_dir: str) -> None:
    """Copy the evidence and write ``latency.json`` beside it.

    The candidate is decoded in bfloat16, so with exactly the weights that `export` publishes: by the in-process engine,
    or by the agent service in front of vLLM.

    Raises:
        BadInput: the gate has no policy for the run's environment, or too few questions are asked for.
        EnvironmentFailure: the disk is full.
    """
    settings, about = RunConfig.read(config), Subject.read(subject)
    store = open_run_store()
    harness = about.load_harness(store)
    policy = parse_policies(about.gate_policy, where="gate.yaml").policy(about.environment)
    reference = ModelRef.read(Path(model_in))
    given = (
        ModelStore(store).materialise(reference),
        harness,
        get_domain(settings.domain or harness.domain),
        policy.latency,
        settings.latency,
    )
    named: dict[str, Any] = {
        "model_digest": reference.digest,
        "progress": lambda done, total: report(STEP, done, total, "questions"),
    }
    if settings.engine.kind == "vllm":
        from hat.serving.served_latency import measure_served_latency

        document = measure_served_latency(
            *given, engine=settings.engine, export=settings.export, environment=about.environment, **named
        )
    else:
        from hat.serving.latency import measure_latency

        document = measure_latency(*given, **named)
    try:
        shutil.copytree(evidence_in_dir, evidence_out_dir, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise EnvironmentFailure(
            f"the evidence cannot be copied: {error}",
            where=evidence_out_dir,
            mend="Free space and run again.",
        ) from error
    write_json_atomic(Path(evidence_out_dir) / LATENCY, document)
