"""The `validate` step as a Kubeflow component."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def validate(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    trajectories: dsl.Input[dsl.Dataset],
    report: dsl.Output[dsl.HTML],
) -> None:
    """Check the trajectories before anything is trained on them."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.validate",
        inputs={"config": config.path, "subject": subject.path, "trajectories_dir": trajectories.path},
        outputs={"report_out_html": report.path},
    )
