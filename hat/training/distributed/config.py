"""Settings of training in several processes."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class DistributedConfig(BaseModel):
    """Where supervised fine-tuning runs. By default in the step's own process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: int = Field(default=0, ge=0)
    """Pods of the `TrainJob`; 0: no other process than the step's."""
    processes_per_node: int = Field(default=1, ge=1)
    """Training processes of a pod: one for each accelerator."""
    launcher: Literal["auto", "trainjob", "torchrun"] = "auto"
    """`auto`: a `TrainJob` in a pod of a cluster that has Kubeflow Trainer, else `torchrun` beside the step."""
    zero_stage: Literal[1, 2] = 2
    """DeepSpeed ZeRO: 1 shards the optimiser's state over the processes, 2 the gradients too."""
    runtime: str = "torch-distributed"
    """The `ClusterTrainingRuntime`."""
    replicated_job: str = "node"
    """The runtime's replicated job, and its container, that train."""
    service_account: str = ""
    """Service account of the pods; empty: the namespace's default."""
    queue: str = ""
    """Kueue's LocalQueue that admits the job; empty: Kueue leaves it alone."""
    cpu: str = "8"
    """CPU limit of a pod, in Kubernetes notation."""
    memory: str = "64Gi"
    """Memory limit of a pod, in Kubernetes notation."""
    shared_memory: str = "16Gi"
    """Size of /dev/shm; collectives between accelerators need more than the default 64 MB."""
    poll_seconds: float = Field(default=10.0, gt=0)
    """Seconds between two looks at the job."""

    def deepspeed(self) -> dict[str, Any]:
        """DeepSpeed's configuration; what the Trainer knows better is left to it as `auto`.

        Weights stay fp32 and the forward pass is autocast, as in one process: ZeRO only shards.
        """
        return {
            "zero_optimization": {
                "stage": self.zero_stage,
                "overlap_comm": False,
                "contiguous_gradients": True,
            },
            "zero_allow_untested_optimizer": True,
            "gradient_clipping": "auto",
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
            "train_batch_size": "auto",
        }
