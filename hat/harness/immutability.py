"""Checks a registry against a Git revision: versions locked there must still be exactly as they were."""

import subprocess
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure
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
    found = _git(root, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    commit = found.split()[-1]
    listed = _git(root, "ls-tree", "-r", "--name-only", "-z", commit, "--", ".")
    problems = Problems()
    for name in sorted(path for path in listed.split("\0") if path.endswith(f"/{LOCK_FILE}")):
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
