"""Starts a run on a Kubeflow cluster."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.home import store_url
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.steps.resolve import read_settings
from pipelines import kubeflow
from pipelines.compile import check_images, compile_profile
from pipelines.kubeflow import Address, Connection
from pipelines.profile import load_profile
from pipelines.start import RunRequest
from pipelines.version import code_version

MAX_PARAMETER_CHARACTERS = 10_000
"""The cluster refuses longer parameters."""


@dataclass(frozen=True)
class Target:
    """The cluster that a run goes to, and how it is listed there."""

    address: Address
    images: Mapping[str, str]
    experiment: str | None = None
    """Default: the harness's name."""
    caching: bool | None = None
    """Kubeflow's own cache for all steps; None leaves it as compiled."""


def submit_run(request: RunRequest, registry: Registry, target: Target) -> dict[str, Any]:
    """Publish the harness and the pipeline, and create a run; its name, id and address.

    Raises:
        BadInput: anything that can be known to be wrong here, unpinned images included.
        EnvironmentFailure: the store or the API cannot be reached or refuses.
    """
    check_cluster_order(request, target.images)
    store = open_run_store()
    store.preflight()
    harness = publish_harness(store, registry, request.harness, request.version)
    connection = Connection(target.address)
    connection.check()
    name = run_name(harness, registry_commit(registry.root) or code_version())
    with tempfile.TemporaryDirectory(prefix="hat-submit-") as folder:
        compiled = compile_profile(request.profile, Path(folder), target.images)
        reference = kubeflow.publish_pipeline(connection, compiled)
        experiment = kubeflow.experiment_id(connection, target.experiment or harness.name)
        run = kubeflow.create_run(
            connection,
            name,
            experiment,
            reference,
            run_arguments(request, harness),
            package=compiled.package,
            caching=target.caching,
        )
    return {"run_id": run.run_id, "run_name": name, "endpoint": target.address.endpoint}


def check_cluster_order(request: RunRequest, images: Mapping[str, str]) -> None:
    """Raise `BadInput` for whatever a cluster run lacks: images, valid settings, a store that pods can read."""
    if not check_images(images):
        raise BadInput(
            "a cluster needs the images",
            where="--image",
            mend="Give --image cpu=NAME@sha256:... and train=...",
        )
    profile = load_profile(request.profile)
    overrides = _overrides(request)
    read_settings(profile.settings_json(), overrides, code_version())
    if len(overrides) > MAX_PARAMETER_CHARACTERS:
        raise BadInput(f"more than {MAX_PARAMETER_CHARACTERS} characters of settings", where="--set")
    if "://" not in store_url():
        raise BadInput(
            "pods cannot read a folder of this machine",
            where=f"HAT_STORE={store_url()}",
            mend="Set it to an s3:// URL, or to file:// for a folder that pods mount at the same path.",
        )


def run_arguments(request: RunRequest, harness: Harness) -> dict[str, Any]:
    """The pipeline's parameters for a run of a harness version."""
    return {
        "harness": harness.name,
        "version": harness.version,
        "harness_digest": harness.digest,
        "mode": request.mode,
        "overrides": _overrides(request),
        "code_version": code_version(),
    }


def run_name(harness: Harness, commit: str, suffix: str = "") -> str:
    """What the Kubeflow UI lists: harness, version and commit."""
    return " ".join(part for part in (harness.name, harness.version, commit[:12], suffix) if part)


def registry_commit(folder: Path) -> str:
    """The Git commit that the registry's folder is checked out at; empty outside of a repository."""
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def _overrides(request: RunRequest) -> str:
    return json.dumps(request.overrides, ensure_ascii=False, sort_keys=True)
