"""The `resolve` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def resolve(
    harness: str,
    version: str,
    harness_digest: str,
    mode: str,
    overrides: str,
    code_version: str,
    profile: str,
    config: dsl.Output[dsl.Artifact],
    subject: dsl.Output[dsl.Artifact],
) -> str:
    """Fix what the run is about and check that it can work. Returns one of `screen`, `train`."""
    from hat.steps.journal import run_step

    parameters = {
        "harness": harness,
        "version": version,
        "harness_digest": harness_digest,
        "mode": mode,
        "overrides": overrides,
        "code_version": code_version,
        "profile": profile,
    }
    outputs = {"config_out": config.path, "subject_out": subject.path}
    return str(run_step("hat.steps.resolve", parameters=parameters, outputs=outputs))
