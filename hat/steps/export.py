"""Step `export`: the candidate as serving engines load it, in the store."""

from pathlib import Path

from hat.models import ModelRef, ModelStore
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps.subject import Subject


def run(*, config: str, subject: str, model_in: str, export_out: str) -> None:
    """Publish the serving model and the engines' files, and write the `ExportDocument` that names them.

    Raises:
        BadInput: the model cannot be served.
        EnvironmentFailure: the disk is full or the store fails.
    """
    from hat.serving.export import publish_export

    settings = RunConfig.read(config)
    store = open_run_store()
    document = publish_export(
        ModelStore(store),
        ModelRef.read(Path(model_in)),
        Subject.read(subject).load_harness(store),
        settings.export,
        training_stages(settings),
    )
    document.write(Path(export_out))


def training_stages(settings: RunConfig) -> tuple[str, ...]:
    """The stages that trained the candidate, in words, for its card."""
    states = "sampled harness states" if settings.sft.control == "hsa" else "the unchanged harness only"
    stages = [f"Supervised fine-tuning on accepted trajectories, presented under {states} (HSA-SFT)"]
    if settings.opd.steps:
        stages.append(
            f"On-policy distillation from the base model on general prompts, {settings.opd.steps} steps"
        )
    if settings.rl.steps:
        stages.append(f"Reinforcement learning on episodes (GRPO), {settings.rl.steps} steps")
    return tuple(stages)
