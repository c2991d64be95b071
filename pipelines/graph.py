"""The pipeline: resolve, screen, and only if the production model fails, train, judge and promote.

Conditions compare words of closed sets, since kfp's local runner evaluates them as text. Nothing fans out
here: the library does that (KFP's loops have faults in both worlds).
"""

from collections.abc import Callable, Mapping
from typing import Any

from kfp import dsl

from components.augment.component import augment
from components.decide.component import decide
from components.evaluate.component import evaluate
from components.export.component import export
from components.finalize.component import finalize
from components.generate.component import generate
from components.images import CPU
from components.latency.component import latency
from components.opd.component import opd
from components.promote.component import promote
from components.resolve.component import resolve
from components.rl.component import rl
from components.screen.component import screen
from components.sft.component import sft
from components.validate.component import validate
from hat.runs.harness_archive import LATEST
from hat.steps.contract import contract
from pipelines.platform import Placement, on_cluster, owns_pods, runs_model
from pipelines.pod import set_up_pod
from pipelines.profile import Profile

Step = Callable[..., dsl.PipelineTask]
"""Makes a task of a component: step(component, **inputs)."""


def build_pipeline(profile: Profile, images: Mapping[str, str], sources: str) -> Any:
    """The pipeline of one profile, ready for kfp's compiler.

    Args:
        profile: its stage settings are fixed in the pipeline as JSON text.
        images: ``cpu`` and ``train`` -> reference pinned by digest, as the parameters' defaults; without
            them, whoever starts a run must give them.
        sources: digest of the sources that the pipeline is compiled from, the default of ``code_version``.
    """
    settings = profile.settings_json()

    def pipeline(
        harness: str,
        image_cpu: str,
        image_train: str,
        version: str,
        harness_digest: str,
        mode: str,
        overrides: str,
        code_version: str,
        accelerator_type: str,
        accelerator_count: str,
        node_selector: dict,
        tolerations: list,
    ) -> None:
        """Prove a harness version with the model in production; train, judge and promote if it fails.

        Args:
            harness: Name of the harness.
            image_cpu: Image of the steps that need no model, pinned by digest.
            image_train: Image of the steps that run a model, pinned by digest.
            version: Its semantic version, published to the store before; latest for the newest published.
            harness_digest: Digest of the harness's files; empty for the newest published.
            mode: auto (screen first), train (always train) or screen (never train).
            overrides: Settings that replace the profile's, as JSON text of dotted keys.
            code_version: Digest of the package sources, part of every cache key.
            accelerator_type: Resource name of the accelerators of steps that run a model, e.g. nvidia.com/gpu.
            accelerator_count: Accelerators per pod of those steps; 0 for none.
            node_selector: Labels of the nodes that those steps run on, as a JSON object.
            tolerations: Tolerations of those steps, as a JSON list.
        """

        placement = Placement(accelerator_type, accelerator_count, node_selector, tolerations)

        def step(component: Any, **inputs: Any) -> dsl.PipelineTask:
            task: dsl.PipelineTask = component(**inputs)
            set_up_pod(task, profile.pod)
            family = component.component_spec.implementation.container.image
            task.set_container_image(image_cpu if family == CPU else image_train)
            task.set_caching_options(contract(component.name).reusable)
            placed = runs_model(component.name, launches=bool(profile.config.distributed.nodes))
            on_cluster(task, profile.resources_of(component.name), placement if placed else None)
            if component.name == "sft":
                owns_pods(task)
            return task

        request = {
            "harness": harness,
            "version": version,
            "mode": mode,
            "overrides": overrides,
            "code_version": code_version,
        }
        with dsl.ExitHandler(step(finalize, **request, profile_name=profile.name), name="run"):
            resolved = step(resolve, **request, harness_digest=harness_digest, profile=settings)
            given = {"config": resolved.outputs["config"], "subject": resolved.outputs["subject"]}
            screened = step(screen, **given)
            decision = screened.outputs["Output"]
            with dsl.If(decision == "train", name="train"):
                where = {
                    "image": image_train,
                    "accelerator_type": accelerator_type,
                    "accelerator_count": accelerator_count,
                    "node_selector": node_selector,
                    "tolerations": tolerations,
                }
                _train_and_judge(step, given, where)
            with dsl.If(decision == "promote", name="screened"):
                model, verdict = screened.outputs["model"], screened.outputs["verdict"]
                step(promote, **given, model_in=model, verdict=verdict)

    references = (images["cpu"], images["train"]) if images else ()
    placed = (
        profile.accelerator_type,
        str(profile.accelerators),
        dict(profile.node_selector),
        list(profile.tolerations),
    )
    pipeline.__defaults__ = (*references, LATEST, "", "auto", "{}", sources, *placed)
    return dsl.pipeline(name=f"hat-{profile.name}", description=profile.description)(pipeline)


def _train_and_judge(step: Step, given: Mapping[str, Any], where: Mapping[str, Any]) -> None:
    """The steps that run when a model has to be trained, ending in the gate's word and a promotion.

    ``where`` is the placement as `sft` hands it on to pods of its own.
    """
    states = step(augment, **given).outputs["states"]
    trajectories = step(generate, **given, states=states).outputs["trajectories"]
    validated = step(validate, **given, trajectories=trajectories)
    tuned = step(sft, **given, trajectories=trajectories, **where)
    tuned.after(validated)
    distilled = step(opd, **given, model_in=tuned.outputs["model"], trajectories=trajectories)
    reinforced = step(rl, **given, model_in=distilled.outputs["model"], trajectories=trajectories)
    model = reinforced.outputs["model"]
    exported = step(export, **given, model_in=model)
    evaluated = step(
        evaluate, **given, model_in=model, trajectories=trajectories, tasks=reinforced.outputs["tasks"]
    )
    evaluated.after(exported)  # an export that fails costs less than an evaluation
    timed = step(latency, **given, model_in=model, evidence_in=evaluated.outputs["evidence"])
    judged = step(decide, **given, evidence=timed.outputs["evidence"])
    with dsl.If(judged.outputs["Output"] == "PASS", name="passed"):
        step(promote, **given, model_in=model, verdict=judged.outputs["verdict"])
