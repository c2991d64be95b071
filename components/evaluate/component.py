"""The `evaluate` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def evaluate(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    model_in: dsl.Input[dsl.Model],
    trajectories: dsl.Input[dsl.Dataset],
    tasks: dsl.Input[dsl.Artifact],
    evidence: dsl.Output[dsl.Artifact],
) -> None:
    """Evaluate base, production and candidate models on the four suites."""
    from hat.steps.journal import run_step

    run_step(
        "hat.steps.evaluate",
        inputs={
            "config": config.path,
            "subject": subject.path,
            "model_in": model_in.path,
            "trajectories_dir": trajectories.path,
            "tasks_in": tasks.path,
        },
        outputs={"evidence_out_dir": evidence.path},
    )
