"""The Containerfile, without building it: what a linter and a reader can see."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

IMAGES = Path(__file__).resolve().parents[3] / "images"
FAMILIES = ("cpu", "train", "serve")


def text() -> str:
    return (IMAGES / "Containerfile").read_text(encoding="utf-8")


def stage(name: str) -> str:
    """The instructions of one stage, comments left out."""
    found = re.search(rf"^FROM \S+ AS {name}\n(.*?)(?=^FROM |\Z)", text(), re.M | re.S)
    assert found, name
    return "\n".join(line for line in found[1].splitlines() if not line.startswith("#")).strip()


def test_a_linter_finds_nothing() -> None:
    beside = Path(sys.executable).parent / "hadolint"
    hadolint = str(beside) if beside.is_file() else shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("no hadolint: `make env` installs it")
    result = subprocess.run(
        [hadolint, str(IMAGES / "Containerfile")], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "")


def test_every_base_is_an_argument_pinned_by_digest() -> None:
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", text(), re.M))
    stages = re.findall(r" AS ([\w-]+)$", text(), re.M)
    for base in set(re.findall(r"^FROM (\S+)", text(), re.M)) - set(stages):
        name = re.fullmatch(r"\$\{(\w+)\}", base)
        assert name, base
        assert re.fullmatch(r"[\w./:-]+@sha256:[0-9a-f]{64}", defaults[name[1]])


@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_ends_as_a_user_that_is_not_root_and_gets_nothing_of_the_build_but_its_folders(
    family: str,
) -> None:
    assert stage(family).endswith("USER 10001:10001")
    copied = re.findall(r"^COPY (.*)$", stage(family), re.M)
    packages = "core" if family == "cpu" else f"{family}-packages"
    wanted = [f"--from={packages} /opt/hat /opt/hat", "--from=code /opt/code /opt/code"]
    if family == "train":
        wanted.insert(1, "--from=engine /opt/vllm /opt/vllm")
    assert copied == wanted


def test_a_compiler_is_only_where_deepspeed_needs_it() -> None:
    with_compiler = {family for family in FAMILIES if re.search(r"\bg\+\+", stage(family))}
    assert with_compiler == {"train"}


def test_packages_are_installed_under_the_constraints() -> None:
    commands = (IMAGES / "install.sh").read_text(encoding="utf-8").splitlines()
    resolving = [line for line in commands if line.startswith("pip install") and "--no-deps" not in line]
    assert resolving
    assert all("-c constraints.txt" in line for line in resolving)


@pytest.mark.parametrize("script", ["build.sh", "install.sh", "with-docker.sh"])
def test_scripts_parse(script: str) -> None:
    assert subprocess.run(["bash", "-n", str(IMAGES / script)], check=False).returncode == 0


def test_without_a_runtime_the_message_says_so_and_the_status_is_4(tmp_path: Path) -> None:
    """Nobody's Docker, and no way to install one: a PATH with the shell's tools only."""
    for tool in ("bash", "dirname", "id", "sed", "env"):
        found = shutil.which(tool)
        assert found
        (tmp_path / tool).symlink_to(found)
    script = (IMAGES / "with-docker.sh").read_text(encoding="utf-8").replace("/usr/bin/docker", "/nowhere")
    copy = tmp_path / "images" / "with-docker.sh"
    copy.parent.mkdir()
    copy.write_text(script, encoding="utf-8")
    result = subprocess.run(
        ["bash", str(copy), "true"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 4
    assert "error: a docker client with BuildKit is missing" in result.stderr
