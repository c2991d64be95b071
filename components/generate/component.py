"""The `generate` step as a Kubeflow component."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def generate(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    states: dsl.Input[dsl.Artifact],
    trajectories: dsl.Output[dsl.Dataset],
) -> None:
    """Make accepted trajectories with the expert."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.generate",
        inputs={"config": config.path, "subject": subject.path, "states_dir": states.path},
        outputs={"trajectories_out_dir": trajectories.path},
    )
