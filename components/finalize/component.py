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
    metrics: dsl.Output[dsl.Metrics],
    verdict: dsl.Output[dsl.Markdown],
    report: dsl.Output[dsl.HTML],
) -> None:
    """Write the run's record and report, whatever happened before, and show them in the Kubeflow UI."""
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
    outputs = {"verdict_out": verdict.path, "report_out_html": report.path}
    values = run_step("hat.steps.finalize", parameters=parameters, outputs=outputs)
    for name, value in values.items():
        metrics.log_metric(name, value)
