"""The `sft` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def sft(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    trajectories: dsl.Input[dsl.Dataset],
    model: dsl.Output[dsl.Model],
    metrics: dsl.Output[dsl.Artifact],
) -> None:
    """Supervised fine-tuning on trajectories presented under many harness states (HSA-SFT)."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.sft",
        inputs={"config": config.path, "subject": subject.path, "trajectories_dir": trajectories.path},
        outputs={"model_out": model.path, "metrics_out": metrics.path},
    )
