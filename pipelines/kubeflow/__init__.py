"""Talking to a Kubeflow Pipelines API through its real client."""

from pipelines.kubeflow.connection import Address, Connection
from pipelines.kubeflow.pipelines import Reference, publish_pipeline
from pipelines.kubeflow.runs import KubeflowRun, create_run, experiment_id, find_run, get_run

__all__ = [
    "Address",
    "Connection",
    "KubeflowRun",
    "Reference",
    "create_run",
    "experiment_id",
    "find_run",
    "get_run",
    "publish_pipeline",
]
