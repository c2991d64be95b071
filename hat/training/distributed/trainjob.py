"""The `TrainJob` resource of Kubeflow Trainer (trainer.kubeflow.org/v1alpha1) that trains one step's model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hat.training.distributed.config import DistributedConfig

GROUP, VERSION, PLURAL = "trainer.kubeflow.org", "v1alpha1", "trainjobs"
MANAGER = "hat-pipelines/launcher"
WORKER = "hat.training.distributed.worker"
CREDENTIALS = "hat-store-credentials"
"""Secret with the store's keys, by reference; without it boto3 finds an identity elsewhere."""
CREDENTIAL_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_USER = 10001
"""User and group of the images."""


@dataclass(frozen=True)
class Placement:
    """Where the pods run and on what; parameters of the pipeline."""

    image: str
    accelerator_type: str = "nvidia.com/gpu"
    accelerator_count: int = 0
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()


def job_name(key: str) -> str:
    """The job's name: the same for every attempt of the same work, so that an attempt finds what another left."""
    return f"hat-sft-{key[:24]}"


def train_job(
    key: str,
    config: DistributedConfig,
    placement: Placement,
    *,
    environment: Mapping[str, str],
    owner: Mapping[str, str] | None = None,
    run: str = "",
) -> dict[str, Any]:
    """The resource, without a namespace.

    Args:
        key: the step's key; names the job and what its processes read.
        environment: variables of the training processes.
        owner: ``name`` and ``uid`` of the pod that creates it; Kubernetes deletes the job with that pod.
        run: the run's name, as a label.
    """
    limits: dict[str, Any] = {"cpu": config.cpu, "memory": config.memory}
    if placement.accelerator_count:
        limits[placement.accelerator_type] = placement.accelerator_count
    metadata: dict[str, Any] = {
        "name": job_name(key),
        "labels": {"app.kubernetes.io/part-of": "hat-pipelines", "hat-pipelines/step": "sft"},
    }
    if run:
        metadata["labels"]["hat-pipelines/run"] = re.sub(r"[^A-Za-z0-9_.-]", "-", run)[:63].strip("-_.")
    if config.queue:
        metadata["labels"]["kueue.x-k8s.io/queue-name"] = config.queue
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", **owner}]
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": {
            "runtimeRef": {"apiGroup": GROUP, "kind": "ClusterTrainingRuntime", "name": config.runtime},
            "trainer": {
                "image": placement.image,
                # The runtime sets torchrun's own variables (PET_NNODES and so on).
                "command": ["torchrun", "--module", WORKER, key],
                "numNodes": config.nodes,
                "numProcPerNode": config.processes_per_node,
                "resourcesPerNode": {"limits": limits, "requests": dict(limits)},
                "env": _variables(environment),
            },
            "runtimePatches": [{"manager": MANAGER, "trainingRuntimeSpec": _patch(config, placement)}],
        },
    }


def outcome(job: Mapping[str, Any]) -> tuple[str, str]:
    """("complete" | "failed" | "suspended" | "running", message) of a job as the API gives it."""
    told = job.get("status", {}).get("conditions", ())
    conditions = {each["type"]: each for each in told if each["status"] == "True"}
    for kind, word in (("Failed", "failed"), ("Complete", "complete"), ("Suspended", "suspended")):
        if kind in conditions:
            return word, f"{conditions[kind].get('reason', '')}: {conditions[kind].get('message', '')}"
    return "running", ""


def _variables(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = [{"name": name, "value": environment[name]} for name in sorted(environment)]
    secret = [
        {"name": key, "valueFrom": {"secretKeyRef": {"name": CREDENTIALS, "key": key, "optional": True}}}
        for key in CREDENTIAL_KEYS
    ]
    return plain + secret


def _patch(config: DistributedConfig, placement: Placement) -> dict[str, Any]:
    """What the pods need beyond the runtime: placement, identity, shared memory, the restricted security standard."""
    pod: dict[str, Any] = {
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": config.shared_memory}}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": config.replicated_job,
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    }
    if placement.node_selector:
        pod["nodeSelector"] = dict(placement.node_selector)
    if placement.tolerations:
        pod["tolerations"] = [dict(each) for each in placement.tolerations]
    if config.service_account:
        pod["serviceAccountName"] = config.service_account
    job = {"name": config.replicated_job, "template": {"spec": {"template": {"spec": pod}}}}
    return {"template": {"spec": {"replicatedJobs": [job]}}}
