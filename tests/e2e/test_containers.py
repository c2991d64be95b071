"""The images as a cluster uses them, and the whole pipeline with each step in its image. `make test-docker`."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hat.runs.progress import Reader
from pipelines.containers import RUN_LABEL, local_images
from pipelines.version import code_version

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]
docker = pytest.importorskip("docker", reason="`make env` installs it")
REPOSITORY = Path(__file__).resolve().parents[2]
USER = 10001
FAMILIES = ("cpu", "train", "serve")


def image(family: str) -> str:
    return local_images(code_version())["cpu"].replace("-cpu:", f"-{family}:")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    client = docker.from_env()
    yield client
    client.close()


def shell(client: Any, family: str, script: str) -> str:
    """Output of a script in an image, under the restrictions of a cluster."""
    output: bytes = client.containers.run(
        image(family),
        ["sh", "-c", script],
        remove=True,
        network_mode="none",
        read_only=True,
        tmpfs={"/tmp": "exec"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
    )
    return output.decode()


@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_says_what_it_was_built_from_and_runs_as_nobody_special(client: Any, family: str) -> None:
    config = client.images.get(image(family)).attrs["Config"]
    assert config["User"] == f"{USER}:{USER}"
    assert config["Labels"]["hat.code-version"] == code_version()
    assert re.match(r"[0-9a-f]{40}", config["Labels"]["org.opencontainers.image.revision"])
    assert shell(client, family, "id -u").strip() == str(USER)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_holds_no_build_tools(client: Any, family: str) -> None:
    """But the train image's compiler, which DeepSpeed asks for at run time."""
    found = shell(
        client, family, "for tool in gcc g++ cc make cmake; do command -v $tool; done; true"
    ).split()
    wanted = {"/usr/bin/gcc", "/usr/bin/g++", "/usr/bin/cc"} if family == "train" else set()
    assert {path for path in found if not path.endswith("make")} <= wanted
    assert bool(found) == bool(wanted)
    assert shell(client, family, "ls /opt/hat/bin | grep -c '^pip' || true").strip() == "0"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_has_the_versions_of_the_constraints(client: Any, family: str) -> None:
    pinned = dict(
        re.findall(r"^([\w.-]+)==(\S+)$", (REPOSITORY / "constraints.txt").read_text(encoding="utf-8"), re.M)
    )
    names = {name.lower().replace("_", "-"): version for name, version in pinned.items()}
    script = "from importlib.metadata import distributions; import json; "
    script += "print(json.dumps({d.metadata['Name']: d.version for d in distributions()}))"
    installed = json.loads(shell(client, family, f'python -c "{script}"'))
    ours = {name.lower().replace("_", "-"): version.partition("+")[0] for name, version in installed.items()}
    assert ours.pop("hat-pipelines")
    assert {name: version for name, version in ours.items() if names.get(name) != version} == {}
    assert ("torch" in ours) == (family == "train")


def test_the_command_line_works_in_the_cpu_image(client: Any) -> None:
    assert "Usage: hat" in shell(client, "cpu", "hat --help")
    assert shell(client, "cpu", "git --version").startswith("git version")


def test_deepspeed_builds_its_kernels_in_the_train_image(client: Any) -> None:
    script = "from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder as B; B().load(); print('built')"
    assert shell(client, "train", f'python -c "{script}"').strip().endswith("built")


class Product:
    """`hat` as somebody who is not root uses it, with a state folder of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        environment = {**os.environ, "HAT_HOME": str(home), "PYTHONPATH": str(REPOSITORY), "HOME": str(home)}
        self.environment = {
            name: value
            for name, value in environment.items()
            if name not in ("HAT_STORE", "HAT_RUN_ID", "HAT_REGISTRY")
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pipelines.cli", "run", *arguments, "--runner", "docker", "--json"]
        if os.geteuid() == 0:  # steps run as the user who runs `hat`: root would prove little
            address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
            # The capability lets that user read an interpreter in root's home, and nothing more.
            command = [
                "setpriv",
                f"--reuid={USER}",
                f"--regid={USER}",
                f"--groups={Path(address).stat().st_gid}",
                "--inh-caps=+dac_read_search",
                "--ambient-caps=+dac_read_search",
                *command,
            ]
        return subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, expect: int = 0) -> dict[str, Any]:
        process = self.start(*arguments)
        output, remarks = process.communicate()
        assert process.returncode == expect, remarks
        assert "Traceback" not in remarks
        record: dict[str, Any] = json.loads(output)
        return record


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    # pytest's own temporary folders are closed to other users
    home = Path(tempfile.mkdtemp(prefix="hat-containers-"))
    if os.geteuid() == 0:
        os.chown(home, USER, USER)
    yield Product(home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def trained(product: Product, client: Any) -> dict[str, Any]:
    """A run of the profile tiny that was killed during SFT, and resumed."""
    process = product.start("live-shop@1.0.0", "--profile", "tiny")
    run = ""
    while not run and process.poll() is None:
        for folder in (product.home / "runs").glob("*"):
            if any(event.step == "sft" and event.event == "started" for event in Reader(folder).events()):
                run = folder.name
        time.sleep(0.2)
    assert run, process.communicate()[1]
    assert client.containers.list(filters={"label": f"{RUN_LABEL}={run}"})
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while client.containers.list(filters={"label": f"{RUN_LABEL}={run}"}):
        assert time.monotonic() < deadline, "the step outlived the run"
        time.sleep(0.2)
    return product.run("live-shop@1.0.0", "--resume", run)


def test_every_step_ran_in_its_image(product: Product, trained: dict[str, Any]) -> None:
    status = {step["name"]: step["status"] for step in trained["steps"]}
    assert trained["verdict"] == "PASS"
    assert trained["promoted"] is True
    assert {name for name, word in status.items() if word == "skipped"} == {
        "resolve",
        "screen",
        "augment",
        "generate",
        "validate",
    }
    assert status["sft"] == status["decide"] == "ran"


def test_what_a_run_leaves_belongs_to_who_started_it(product: Product, trained: dict[str, Any]) -> None:
    owner = USER if os.geteuid() == 0 else os.geteuid()
    files = [path for path in product.home.rglob("*") if not path.is_symlink()]
    assert files
    assert [path for path in files if path.stat().st_uid != owner] == []


def test_no_container_is_left(trained: dict[str, Any], client: Any) -> None:
    assert client.containers.list(all=True, filters={"label": f"{RUN_LABEL}={trained['run']}"}) == []


def test_the_next_version_is_promoted_by_screening_alone(product: Product, trained: dict[str, Any]) -> None:
    record = product.run("live-shop@1.1.0", "--profile", "tiny")
    assert (record["verdict"], record["trained"], record["promoted"]) == ("PASS", False, True)


def test_a_step_whose_container_is_killed_fails_the_run_with_one_message(
    product: Product, trained: dict[str, Any], client: Any
) -> None:
    process = product.start("live-shop@1.0.0", "--profile", "tiny", "--mode", "train", "--set", "seed=7")
    killed = False
    while not killed and process.poll() is None:
        for container in client.containers.list(filters={"label": RUN_LABEL}):
            container.kill()
            killed = True
        time.sleep(0.1)
    output, remarks = process.communicate()
    assert killed
    assert process.returncode == 4, remarks
    assert json.loads(output)["status"] == "failed"
    assert "Traceback" not in remarks
