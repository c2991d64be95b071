"""The `sft` step as a Kubeflow component."""

from kfp import dsl

from components.images import TRAIN


@dsl.component(base_image=TRAIN, install_kfp_package=False)
def sft(
    config: dsl.Input[dsl.Artifact],
    subject: dsl.Input[dsl.Artifact],
    trajectories: dsl.Input[dsl.Dataset],
    image: str,
    accelerator_type: str,
    accelerator_count: str,
    node_selector: dict,
    tolerations: list,
    model: dsl.Output[dsl.Model],
    metrics: dsl.Output[dsl.Artifact],
) -> None:
    """Supervised fine-tuning on trajectories presented under many harness states (HSA-SFT)."""
    import json
    import os

    from hat.steps.journal import run_step

    # For a training that runs in pods of its own. No input of the step's work: where it runs changes no result.
    placement = {
        "image": image,
        "accelerator_type": accelerator_type,
        "accelerator_count": accelerator_count,
        "node_selector": node_selector,
        "tolerations": tolerations,
    }
    os.environ["HAT_PLACEMENT"] = json.dumps(placement)
    run_step(
        "hat.steps.sft",
        inputs={"config": config.path, "subject": subject.path, "trajectories_dir": trajectories.path},
        outputs={"model_out": model.path, "metrics_out": metrics.path},
    )
