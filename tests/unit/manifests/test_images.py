"""The Containerfiles, without building them: what a linter and a reader can see."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

IMAGES = Path(__file__).resolve().parents[3] / "images"
FAMILIES = ("cpu", "train", "serve")


def text(family: str) -> str:
    return (IMAGES / family / "Containerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_linter_finds_nothing(family: str) -> None:
    beside = Path(sys.executable).parent / "hadolint"
    hadolint = str(beside) if beside.is_file() else shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("no hadolint: `make env` installs it")
    result = subprocess.run(
        [hadolint, str(IMAGES / family / "Containerfile")], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_base_is_an_argument_pinned_by_digest(family: str) -> None:
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", text(family), re.M))
    stages = re.findall(r" AS (\w+)$", text(family), re.M)
    for base in set(re.findall(r"^FROM (\S+)", text(family), re.M)) - set(stages):
        name = re.fullmatch(r"\$\{(\w+)\}", base)
        assert name, base
        assert re.fullmatch(r"[\w./:-]+@sha256:[0-9a-f]{64}", defaults[name[1]])


def test_all_families_stand_on_the_same_base() -> None:
    assert len({re.search(r"^ARG BASE_IMAGE=.*$", text(family), re.M)[0] for family in FAMILIES}) == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_ends_as_a_user_that_is_not_root_and_keeps_the_constraints(family: str) -> None:
    assert text(family).rstrip().endswith("USER 10001:10001")
    assert "-c constraints.txt" in text(family)


@pytest.mark.parametrize("script", ["build.sh", "with-docker.sh"])
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
