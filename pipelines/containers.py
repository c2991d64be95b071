"""Runs the steps of a local run in containers, each in the image that a cluster would use.

kfp's own function that runs a container is replaced: it lets the daemon remove the container, so that a failure
can be lost (a container that is gone counts as a success), breaks on a character that two pieces of output share, and
gets the image of a step unresolved where it is a parameter of the pipeline.
"""

import codecs
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hat.errors import EnvironmentFailure
from pipelines.compile import IMAGE_FAMILIES

RUN_LABEL = "hat.run"
_PLACEHOLDER = re.compile(r"\{\{\$\.inputs\.parameters\['pipelinechannel--([^']+)'\]\}\}")
_PASSED_ON = ("HAT_", "AWS_", "HF_", "OMP_", "OPENAI_")
_NOT_PASSED_ON = ("AWS_CA_BUNDLE",)  # a file of this machine


def local_images(code_version: str) -> dict[str, str]:
    """Family -> tag that `make images` gives an image of this code."""
    return {family: f"hat-python-{family}:{code_version[:12]}" for family in IMAGE_FAMILIES}


def check_built(images: Mapping[str, str]) -> None:
    """Make sure that Docker answers and has the images.

    Raises:
        EnvironmentFailure: the client library is missing, Docker does not answer, or an image is not built.
    """
    try:
        import docker
        from docker.errors import DockerException, ImageNotFound
    except ImportError as error:
        raise EnvironmentFailure(
            "the package docker is not installed", where="--runner docker", mend="pip install docker"
        ) from error
    try:
        client = docker.from_env()
    except DockerException as error:
        raise EnvironmentFailure(
            f"Docker does not answer: {error}",
            where=os.environ.get("DOCKER_HOST", "the default socket"),
            mend="Start it, or set DOCKER_HOST.",
        ) from error
    try:
        for image in images.values():
            client.images.get(image)
    except ImageNotFound as error:
        raise EnvironmentFailure(
            f"no image {image}",
            where="--runner docker",
            mend="`make images` builds the images of this code.",
        ) from error
    except DockerException as error:
        raise EnvironmentFailure(f"Docker fails: {error}", where="--runner docker") from error
    finally:
        client.close()


def container_arguments(environment: Mapping[str, str], user: int, group: int) -> dict[str, Any]:
    """Arguments of each step's container, as kfp's DockerRunner and the Docker SDK name them.

    A step sees HAT_HOME and, if it is a folder, HAT_STORE, at the same paths as here; nothing else of this
    machine's files. It runs as the user of this process, without capabilities, on a read-only image.

    Args:
        environment: of this process; what steps may need of it is passed on.
    """
    from docker.types import Mount

    folders = {environment["HAT_HOME"]}
    if "://" not in environment["HAT_STORE"]:
        folders.add(environment["HAT_STORE"])
    for folder in folders:
        Path(folder).mkdir(parents=True, exist_ok=True)  # or Docker would make it, as root
    passed_on = {
        name: value
        for name, value in environment.items()
        if name.startswith(_PASSED_ON) and name not in _NOT_PASSED_ON
    }
    return {
        "environment": passed_on,
        "mounts": [Mount(folder, folder, type="bind") for folder in sorted(folders)],
        "network_mode": "host",  # the store, and a strong model's endpoint, may be on this machine
        "pid_mode": "host",  # a step looks whether the process that drives the run is alive
        "user": f"{user}:{group}",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "tmpfs": {"/tmp": "exec"},  # DeepSpeed builds its kernels there, and loads them
        "labels": {RUN_LABEL: environment["HAT_RUN_ID"]},
    }


def container_runner(arguments: Mapping[str, Any]) -> Callable[..., int]:
    """`run_container` for a pipeline with these arguments, its images among them."""

    def run(client: Any, image: str, command: list[str], volumes: dict[str, Any], **settings: Any) -> int:
        return run_container(client, resolve_image(image, arguments), command, volumes, **settings)

    return run


def resolve_image(image: str, arguments: Mapping[str, Any]) -> str:
    """The image that a step names: itself, or the argument of the pipeline that kfp's placeholder stands for.

    Raises:
        EnvironmentFailure: the pipeline has no such argument.
    """
    placeholder = _PLACEHOLDER.fullmatch(image)
    if placeholder is None:
        return image
    if placeholder[1] not in arguments:
        raise EnvironmentFailure(
            f"a step's image is the parameter {placeholder[1]}, which is not given", where="--runner docker"
        )
    return str(arguments[placeholder[1]])


def run_container(
    client: Any, image: str, command: list[str], volumes: dict[str, Any], **arguments: Any
) -> int:
    """Run one step to its end, copying its output; the exit status. Stands in for kfp's `run_docker_container`."""
    container = client.containers.run(
        image, command, detach=True, stdout=True, stderr=True, volumes=volumes, **arguments
    )
    try:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for piece in container.logs(stream=True, follow=True):
            sys.stdout.write(decoder.decode(piece))
            sys.stdout.flush()
        return int(container.wait()["StatusCode"])
    finally:
        container.remove(force=True)


def remove_containers(run: str) -> None:
    """End and remove the containers of a run."""
    import docker

    client = docker.from_env()
    try:
        for container in client.containers.list(all=True, filters={"label": f"{RUN_LABEL}={run}"}):
            container.remove(force=True)
    finally:
        client.close()
