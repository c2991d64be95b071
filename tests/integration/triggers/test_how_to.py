"""The how-to pages, followed literally: every block marked as such, in order, in a fresh clone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.triggers.conftest import REPOSITORY
from tests.support.kubeflow_server import KubeflowServer, serving

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)


def commands(page: str) -> list[str]:
    """The commands of a page's followed blocks."""
    text = (REPOSITORY / "docs" / "how-to" / page).read_text(encoding="utf-8")
    return [line for block in _BLOCK.findall(text) for line in block.splitlines() if line.strip()]


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A clone of this repository as it is, with a `hat` command on the path."""
    clone = tmp_path / "clone"
    files = subprocess.run(
        ["git", "-C", str(REPOSITORY), "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, files.split("\0")):
        source, target = REPOSITORY / name, clone / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "clone"]):
        subprocess.run(["git", "-C", str(clone), *IDENTITY, *command], check=True, capture_output=True)
    binary = tmp_path / "bin" / "hat"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} -m pipelines.cli "$@"\n')
    binary.chmod(0o755)
    return clone


IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]


def follow(clone: Path, server: KubeflowServer, lines: list[str]) -> str:
    """Type the lines into one shell; all that it printed. The server's address stands in for the page's."""
    script = "\n".join(lines).replace("http://127.0.0.1:8888", server.url)
    environment = {
        **os.environ,
        "PATH": f"{clone.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(clone),
        "HAT_HOME": str(clone / ".hat"),
        **{f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    result = subprocess.run(
        ["bash", "-e", "-c", script], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_gitops_and_the_schedule_page_work_as_they_stand(shell: Path) -> None:
    with serving(KubeflowServer()) as server:
        said = follow(shell, server, [*commands("gitops.md"), *commands("schedule-runs.md")])
        first = r"live-shop@1\.0\.0: submitted \(live-shop 1\.0\.0 \w{12} tiny \w{8} #1\)\n"
        assert re.search(first, said)
        assert "live-shop@1.1.0: running (PENDING)" in said
        assert "live-shop-weekly-retraining: created\nlive-shop-weekly-retraining: unchanged\n" in said
        assert (shell / "build" / "hat-tiny.manifests.yaml").is_file()
        # One by hand, one for each version that the registry has.
        versions = list((shell / "harness_registry" / "live-shop" / "versions").iterdir())
        assert len(server.runs) == 1 + len(versions)
