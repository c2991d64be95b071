"""The `decide` step as a Kubeflow component."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def decide(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    evidence: dsl.Input[dsl.Artifact],
    verdict: dsl.Output[dsl.Artifact],
) -> str:
    """Apply the gate policy to the evidence. Returns one of `PASS`, `FAIL`, `INCONCLUSIVE`."""
    from hat.steps.journal import run_step

    return str(
        run_step(
            "hat.steps.decide",
            inputs={"config": config.path, "subject": subject.path, "evidence_dir": evidence.path},
            outputs={"verdict_out": verdict.path},
        )
    )
