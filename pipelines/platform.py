"""What a step asks of a Kubernetes cluster. The local runner ignores all of it."""

from kfp import dsl, kubernetes
from pydantic import BaseModel, ConfigDict, Field

RUN_LABEL = "metadata.labels['pipeline/runid']"
SETTINGS_MAP = "hat-settings"
"""ConfigMap whose key HAT_STORE is the store's address."""


class Resources(BaseModel):
    """Resources and placement of one step on a cluster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: str = "1"
    """CPU limit, in Kubernetes notation."""
    memory: str = "2Gi"
    """Memory limit, in Kubernetes notation."""
    accelerators: int = Field(default=0, ge=0)
    """Accelerators per pod."""
    accelerator_type: str = "nvidia.com/gpu"
    """Resource name of the accelerator."""
    node_label: tuple[str, str] | None = None
    """Label (key, value) of the nodes that may run the step."""
    shared_memory: str | None = None
    """Size of /dev/shm; collectives between accelerators need more than the default 64 MB."""
    timeout_seconds: int = Field(default=3600, ge=1)
    """The step is killed after this."""


def on_cluster(task: dsl.PipelineTask, resources: Resources) -> None:
    """Set the step's resources, its time limit and where it learns the run's name and the store's address."""
    task.set_cpu_limit(resources.cpu).set_memory_limit(resources.memory)
    if resources.accelerators:
        task.set_accelerator_type(resources.accelerator_type).set_accelerator_limit(resources.accelerators)
    if resources.node_label:
        kubernetes.add_node_selector(task, *resources.node_label)
    if resources.shared_memory:
        kubernetes.empty_dir_mount(
            task, "shm", "/dev/shm", medium="Memory", size_limit=resources.shared_memory
        )
    kubernetes.set_timeout(task, resources.timeout_seconds)
    # The run's name comes from the pod, not from a parameter: as a parameter it would defeat every cache.
    kubernetes.use_field_path_as_env(task, "HAT_RUN_ID", RUN_LABEL)
    kubernetes.use_config_map_as_env(task, SETTINGS_MAP, {"HAT_STORE": "HAT_STORE"})
