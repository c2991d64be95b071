"""Checks a registry against a Git revision: versions locked there must still be exactly as they were."""

import subprocess
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure
from hat.harness.load import MANIFEST
from hat.harness.problems import Problem, Problems
from hat.harness.registry import Registry
from hat.harness.versions import LOCK_FILE, parse_lock, read_lock

_GIT_SECONDS = 60


def check_against(registry: Registry, revision: str) -> tuple[Problem, ...]:
    """Problems of every harness that had locked versions at ``revision``.

    That files still fit their lines in the lock is the linter's part; here the lines themselves are compared,
    so that nobody can change a merged version and its line together. Every version must be locked by now.

    Raises:
        BadInput: an unknown revision, or a registry outside of any Git repository.
        EnvironmentFailure: Git cannot be run.
    """
    root = registry.root.resolve()
    commit, listed = _listed(root, revision)
    problems = Problems()
    for name in sorted(path for path in listed if path.endswith(f"/{LOCK_FILE}")):
        if name.count("/") == 1:
            text = _git(root, "show", f"{commit}:./{name}")
            _compare(registry.root / name, text, revision, problems)
    for name in registry.names():
        for version in registry.versions(name):
            if version not in read_lock(registry.root / name / LOCK_FILE, Problems()):
                folder = registry.folder(name, version)
                message = f"{name}@{version} is not in {LOCK_FILE}: run `hat harness lock {name}`"
                problems.add("not-locked", folder, message)
    return problems.sorted()


def versions_at(registry: Registry, revision: str) -> dict[str, frozenset[str]]:
    """Harness to its versions at a Git revision. Raises what `check_against` raises."""
    _, names = _listed(registry.root.resolve(), revision)
    found: dict[str, set[str]] = {}
    for path in names:
        parts = path.split("/")
        if len(parts) == 4 and parts[1] == "versions" and parts[3] == MANIFEST:
            found.setdefault(parts[0], set()).add(parts[2])
    return {name: frozenset(versions) for name, versions in found.items()}


def _listed(root: Path, revision: str) -> tuple[str, list[str]]:
    """The commit of a revision, and the files below the registry in it."""
    found = _git(root, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    commit = found.split()[-1]
    return commit, _git(root, "ls-tree", "-r", "--name-only", "-z", commit, "--", ".").split("\0")


def _compare(path: Path, text: str, revision: str, problems: Problems) -> None:
    merged = parse_lock(text, path, Problems())
    now = read_lock(path, Problems())
    for version, entry in merged.items():
        if version not in now:
            message = f"{version} was locked at {revision}, and its line is gone"
            problems.add("locked-digest", path, message)
        elif now[version].digest != entry.digest:
            message = f"{version} had another digest at {revision}: a merged version was changed"
            problems.add("locked-digest", path, message, now[version].line)


def _git(folder: Path, *arguments: str) -> str:
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailure(
            f"git cannot be run: {error}", mend="Install Git, or run `hat harness lint`."
        ) from error
    if result.returncode != 0:
        said = result.stderr.decode("utf-8", "replace").strip()
        mend = "Name a commit or branch of this repository."
        raise BadInput(f"git says: {said}", where=str(folder), mend=mend)
    return result.stdout.decode("utf-8", "replace")
