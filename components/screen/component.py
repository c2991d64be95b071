"""The `screen` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def screen(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    evidence: dsl.Output[dsl.Artifact],
    verdict: dsl.Output[dsl.Artifact],
    model: dsl.Output[dsl.Model],
) -> str:
    """Try the production model before training anything. Returns one of `train`, `promote`, `stop`."""
    from hat.steps.journal import run_step

    return str(
        run_step(
            "hat.steps.screen",
            inputs={"config": config.path, "subject": subject.path},
            outputs={"evidence_out_dir": evidence.path, "verdict_out": verdict.path, "model_out": model.path},
        )
    )
