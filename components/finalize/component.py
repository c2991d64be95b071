"""The `finalize` step as a Kubeflow component."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def finalize(
    harness: str,
    version: str,
    mode: str,
    overrides: str,
    code_version: str,
    profile_name: str,
    status: dsl.PipelineTaskFinalStatus,
) -> None:
    """Write the run's record and report, whatever happened before."""
    from hat.steps.journal import run_step

    parameters = {
        "harness": harness,
        "version": version,
        "mode": mode,
        "overrides": overrides,
        "code_version": code_version,
        "profile": profile_name,
        "succeeded": status.state == "SUCCEEDED",
    }
    run_step("hat.steps.finalize", parameters=parameters)
