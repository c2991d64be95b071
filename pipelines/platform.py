"""What a step asks of a Kubernetes cluster. The local runner ignores all of it."""

from dataclasses import dataclass
from typing import Any

from kfp import dsl, kubernetes
from pydantic import BaseModel, ConfigDict, Field

RUN_LABEL = "metadata.labels['pipeline/runid']"
SETTINGS_MAP = "hat-settings"
"""ConfigMap whose key HAT_STORE is the store's address."""

MODEL_STEPS = frozenset({"screen", "sft", "opd", "rl", "evaluate", "latency"})
"""Steps that run a model: the ones that accelerators and their nodes are for."""


class Resources(BaseModel):
    """Resources and placement of one step on a cluster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: str = "1"
    """CPU limit, in Kubernetes notation."""
    memory: str = "2Gi"
    """Memory limit, in Kubernetes notation."""
    shared_memory: str | None = None
    """Size of /dev/shm; collectives between accelerators need more than the default 64 MB."""
    timeout_seconds: int = Field(default=3600, ge=1)
    """The step is killed after this."""
    retries: int = Field(default=0, ge=0)
    """How often a step that failed is started again, as after a preemption; training goes on from its checkpoint."""


@dataclass(frozen=True)
class Placement:
    """Where model steps run and on what: parameters of the pipeline, so that whoever starts a run may change them."""

    accelerator_type: Any
    accelerator_count: Any
    node_selector: Any
    tolerations: Any


def runs_model(step: str, *, launches: bool) -> bool:
    """Whether a step needs accelerators; `sft` does not where it only launches pods that do."""
    return step in MODEL_STEPS and not (launches and step == "sft")


def on_cluster(task: dsl.PipelineTask, resources: Resources, placement: Placement | None) -> None:
    """Set a step's resources and time limit, where it runs, and where it learns the run's name and the store.

    Args:
        placement: for a step that runs a model; None for the others.
    """
    task.set_cpu_limit(resources.cpu).set_memory_limit(resources.memory)
    if placement is not None:
        task.set_accelerator_type(placement.accelerator_type)
        task.set_accelerator_limit(placement.accelerator_count)
        kubernetes.add_node_selector_json(task, placement.node_selector)
        kubernetes.add_toleration_json(task, placement.tolerations)
    if resources.shared_memory:
        kubernetes.empty_dir_mount(
            task, "shm", "/dev/shm", medium="Memory", size_limit=resources.shared_memory
        )
    kubernetes.set_timeout(task, resources.timeout_seconds)
    if resources.retries:
        task.set_retry(resources.retries, backoff_duration="60s", backoff_factor=2.0)
    # The run's name comes from the pod, not from a parameter: as a parameter it would defeat every cache.
    kubernetes.use_field_path_as_env(task, "HAT_RUN_ID", RUN_LABEL)
    kubernetes.use_config_map_as_env(task, SETTINGS_MAP, {"HAT_STORE": "HAT_STORE"})


def owns_pods(task: dsl.PipelineTask) -> None:
    """Tell a step which pod it is, so that what it creates in the cluster goes when it goes."""
    kubernetes.use_field_path_as_env(task, "HAT_POD_NAME", "metadata.name")
    kubernetes.use_field_path_as_env(task, "HAT_POD_UID", "metadata.uid")
