"""The `latency` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def latency(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    model_in: dsl.Input[dsl.Model],
    evidence_in: dsl.Input[dsl.Artifact],
    evidence: dsl.Output[dsl.Artifact],
) -> None:
    """Measure the time from question to final reply on the exported model."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.latency",
        inputs={
            "config": config.path,
            "subject": subject.path,
            "model_in": model_in.path,
            "evidence_in_dir": evidence_in.path,
        },
        outputs={"evidence_out_dir": evidence.path},
    )
