"""Compiles a profile's pipeline to the YAML that Kubeflow and the local runner both run."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure
from hat.files import write_bytes_atomic
from pipelines.profile import load_profile
from pipelines.version import source_commit

IMAGE_FAMILIES = ("cpu", "train")
_PINNED = re.compile(r"^[\w.:/-]+@sha256:[0-9a-f]{64}$")


@dataclass(frozen=True)
class Compiled:
    """What compiling a profile wrote."""

    package: Path
    """What the Kubeflow UI, `hat submit` and the local runner load."""
    manifests: Path
    """The `Pipeline` and `PipelineVersion` resources, for a cluster that keeps pipelines in Kubernetes."""
    pipeline: str
    """Name of the pipeline."""
    version: str
    """Name of the pipeline version: commit and digest of the package, so that no name has two contents."""


def compile_profile(
    profile: str,
    out: Path,
    images: Mapping[str, str] | None = None,
    *,
    commit: str | None = None,
    namespace: str | None = None,
) -> Compiled:
    """Write ``<out>/hat-<profile>.yaml`` and ``hat-<profile>.manifests.yaml``: the same bytes for the same sources.

    Compiled in a child process, because kfp's output depends on the hash seed, which is fixed at start.

    Args:
        images: ``cpu`` and ``train`` -> reference pinned by digest, the defaults of the image parameters.
        commit: what the pipeline version is named after; default: the commit of the sources.
        namespace: of the manifests; default: none, which kustomize or Argo CD fill in.

    Raises:
        BadInput: no such profile, or an image that is not pinned.
        EnvironmentFailure: kfp's compiler failed.
    """
    load_profile(profile)
    pinned = check_images(images or {})
    with tempfile.TemporaryDirectory(prefix="hat-compile-") as folder:
        package, manifests = Path(folder) / "pipeline.yaml", Path(folder) / "manifests.yaml"
        named = source_commit() if commit is None else commit
        order = {"profile": profile, "images": pinned, "commit": named, "namespace": namespace}
        command = [sys.executable, "-m", "pipelines.compile_child", json.dumps(order), folder]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode:
            last = (result.stderr.strip() or "no output").splitlines()[-1]
            raise EnvironmentFailure(f"the pipeline does not compile: {last}", where=f"profile {profile}")
        name = f"hat-{Path(profile).stem}"
        compiled = Compiled(
            out / f"{name}.yaml",
            out / f"{name}.manifests.yaml",
            name,
            version_name(name, named, package.read_bytes()),
        )
        write_bytes_atomic(compiled.package, package.read_bytes())
        write_bytes_atomic(compiled.manifests, manifests.read_bytes())
    return compiled


def version_name(pipeline: str, commit: str, package: bytes) -> str:
    """Name of a pipeline version, legal in Kubernetes: pipeline, commit and digest of the package, shortened."""
    digest = hashlib.sha256(package).hexdigest()[:8]
    return "-".join(part for part in (pipeline, commit[:12], digest) if part)


def check_images(images: Mapping[str, str]) -> dict[str, str]:
    """The images if they are all families or none, each pinned by digest. Raises `BadInput`."""
    for family, reference in images.items():
        if family not in IMAGE_FAMILIES:
            raise BadInput(f"no image family {family!r}", where="--image", mend=_known())
        if not _PINNED.match(reference):
            raise BadInput(
                f"{reference!r} is not pinned by digest",
                where=f"--image {family}",
                mend="Write NAME@sha256:<64 hex>.",
            )
    if images and set(images) != set(IMAGE_FAMILIES):
        raise BadInput("give all image families or none", where="--image", mend=_known())
    return dict(images)


def _known() -> str:
    return f"Families: {', '.join(IMAGE_FAMILIES)}."
