"""The `rl` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def rl(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    model_in: dsl.Input[dsl.Model],
    trajectories: dsl.Input[dsl.Dataset],
    model: dsl.Output[dsl.Model],
    metrics: dsl.Output[dsl.Artifact],
    tasks: dsl.Output[dsl.Artifact],
) -> None:
    """Reinforcement learning with one harness state per group (HSA-RL)."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.rl",
        inputs={
            "config": config.path,
            "subject": subject.path,
            "model_in": model_in.path,
            "trajectories_dir": trajectories.path,
        },
        outputs={"model_out": model.path, "metrics_out": metrics.path, "tasks_out": tasks.path},
    )
