"""Step `screen`: tries the model in production under the harness version before anything is trained."""

import tempfile
from pathlib import Path

from hat.files import read_json, write_json_atomic
from hat.runs.config import RunConfig
from hat.steps.subject import Subject

TRAINED_ON_NOTHING = ""
"""Stands for the trajectories folder of a run that trains nothing."""


def run(*, config: str, subject: str, evidence_out_dir: str, verdict_out: str, model_out: str) -> str:
    """Judge the pair (this harness version, the model in production) by the gate.

    Writes the evidence, the verdict, and the ModelRef of the model that the verdict is about; without a model
    in production, or when training was asked for, the folder is empty and the verdict null.

    Returns:
        ``promote``: the pair passed. ``train``: it failed, or its quality stays unproven with all the items
        that the policy asks for, and training is the cure for both. ``stop``: evidence is missing or unfit,
        or the mode is ``screen``.
    """
    about = Subject.read(subject)
    RunConfig.read(config)
    if about.plan == "train" or about.production is None:
        write_json_atomic(Path(verdict_out), None)
        write_json_atomic(Path(model_out), about.base)
        return "train"
    # Costly to import, and a run that trains needs none of it here.
    from hat.steps.decide import run as decide
    from hat.steps.evaluate import run as evaluate
    from hat.steps.latency import run as measure_latency

    write_json_atomic(Path(model_out), about.production)
    with tempfile.TemporaryDirectory(prefix="hat-screen-") as folder:
        evaluated = Path(folder) / "evaluated"
        evaluated.mkdir()
        given = {"config": config, "subject": subject, "model_in": model_out}
        evaluate(**given, trajectories_dir=TRAINED_ON_NOTHING, evidence_out_dir=str(evaluated))
        measure_latency(**given, evidence_in_dir=str(evaluated), evidence_out_dir=evidence_out_dir)
    word = decide(config=config, subject=subject, evidence_dir=evidence_out_dir, verdict_out=verdict_out)
    if word == "PASS":
        return "promote"
    curable = word == "FAIL" or bool(read_json(Path(verdict_out)).get("calls_for_training"))
    return "train" if curable and about.mode != "screen" else "stop"
