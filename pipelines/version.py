"""The version of our code, as every cache key holds it."""

import subprocess
from functools import cache
from pathlib import Path

import components
import hat
import pipelines
from hat.files import canonical_json, sha256_file, sha256_text

SUFFIXES = {".py", ".yaml", ".json", ".jsonl", ".jinja", ".txt", ".md"}


@cache
def code_version() -> str:
    """Hex SHA-256 of the sources of our packages, their data files and the constraints.

    Command-line modules are left out: they cannot change what a step computes.
    """
    pairs = []
    for package in (hat, components, pipelines):
        root = Path(str(package.__file__)).parent
        for path in root.rglob("*"):
            relative = path.relative_to(root.parent).as_posix()
            if path.suffix in SUFFIXES and not relative.startswith("pipelines/cli/") and path.is_file():
                pairs.append((relative, sha256_file(path)))
    constraints = Path(str(hat.__file__)).parent.parent / "constraints.txt"
    if constraints.is_file():
        pairs.append(("constraints.txt", sha256_file(constraints)))
    return sha256_text(canonical_json(sorted(pairs)))


@cache
def source_commit() -> str:
    """The Git commit that the sources are a clean checkout of; empty when they are changed or no checkout.

    Only our packages count: a change of a harness or a page does not make the pipeline another one.
    """
    commit, dirty = checkout()
    return "" if dirty else commit


@cache
def checkout() -> tuple[str, bool]:
    """The Git commit that is checked out, empty where there is none, and whether the sources differ from it."""
    root = Path(str(hat.__file__)).parent.parent
    try:
        status = _git(
            root, "status", "--porcelain", "--", "hat", "components", "pipelines", "constraints.txt"
        )
        return _git(root, "rev-parse", "HEAD"), bool(status)
    except (OSError, subprocess.SubprocessError):
        return "", False


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
