"""The `promote` step as a Kubeflow component."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def promote(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    model_in: dsl.Input[dsl.Model],
    verdict: dsl.Input[dsl.Artifact],
    promotion: dsl.Output[dsl.Artifact],
) -> None:
    """Record that the pair (harness version, model) is in production."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.promote",
        inputs={
            "config": config.path,
            "subject": subject.path,
            "model_in": model_in.path,
            "verdict": verdict.path,
        },
        outputs={"promotion_out": promotion.path},
    )
