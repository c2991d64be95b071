"""The `export` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def export(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    model_in: dsl.Input[dsl.Model],
    export: dsl.Output[dsl.Artifact],
) -> None:
    """Package the trained model for serving."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.export",
        inputs={"config": config.path, "subject": subject.path, "model_in": model_in.path},
        outputs={"export_out": export.path},
    )
