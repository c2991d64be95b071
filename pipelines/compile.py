"""Compiles a profile's pipeline to the YAML that Kubeflow and the local runner both run."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure
from hat.files import write_bytes_atomic
from pipelines.profile import load_profile

IMAGE_FAMILIES = ("cpu", "train")
_PINNED = re.compile(r"^[\w.:/-]+@sha256:[0-9a-f]{64}$")


def compile_profile(profile: str, out: Path, images: Mapping[str, str] | None = None) -> Path:
    """Write ``<out>/hat-<profile>.yaml``: the same bytes for the same sources.

    Compiled in a child process, because kfp's output depends on the hash seed, which is fixed at start.

    Args:
        images: ``cpu`` and ``train`` -> reference pinned by digest, the defaults of the image parameters.

    Raises:
        BadInput: no such profile, or an image that is not pinned.
        EnvironmentFailure: kfp's compiler failed.
    """
    load_profile(profile)
    pinned = check_images(images or {})
    with tempfile.TemporaryDirectory(prefix="hat-compile-") as folder:
        package = Path(folder) / "pipeline.yaml"
        command = [sys.executable, "-m", "pipelines.compile", profile, str(package)]
        command += [f"{family}={reference}" for family, reference in sorted(pinned.items())]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode:
            last = (result.stderr.strip() or "no output").splitlines()[-1]
            raise EnvironmentFailure(f"the pipeline does not compile: {last}", where=f"profile {profile}")
        target = out / f"hat-{Path(profile).stem}.yaml"
        write_bytes_atomic(target, package.read_bytes())
    return target


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


def main(profile: str, package: str, *images: str) -> None:
    """Compile in this process; see `compile_profile`."""
    from kfp import compiler

    from pipelines.graph import build_pipeline
    from pipelines.version import code_version

    pairs = dict(image.split("=", 1) for image in images)
    compiler.Compiler().compile(build_pipeline(load_profile(profile), pairs, code_version()), package)


if __name__ == "__main__":
    main(*sys.argv[1:])
