"""The `augment` step as a Kubeflow component."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def augment(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    states: dsl.Output[dsl.Artifact],
) -> None:
    """Sample and verify the harness states that the run trains under."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.augment",
        inputs={"config": config.path, "subject": subject.path},
        outputs={"states_out_dir": states.path},
    )
