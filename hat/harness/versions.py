"""Version numbers, and ``versions.lock``: the digest that each merged version must keep."""

import re
from dataclasses import dataclass
from pathlib import Path

from hat.harness.manifest import VERSION_PATTERN
from hat.harness.problems import Problems
from hat.harness.reading.bundle import read_source
from hat.harness.reading.names import shown

LOCK_FILE = "versions.lock"
CHANGED_PLACEHOLDER = "Describe here what changed against the parent, and why."
"""What a new version says until its editor does."""
_VERSION = re.compile(VERSION_PATTERN)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOCK_HEADER = (
    "# VERSION DIGEST of each merged version, whose files never change. `hat harness lock` adds lines.\n"
)


@dataclass(frozen=True)
class LockEntry:
    """One line of the lock file."""

    digest: str
    line: int


def is_version(text: str) -> bool:
    """True for three numbers such as 1.4.0, without leading zeros."""
    return _VERSION.fullmatch(text) is not None


def version_key(version: str) -> tuple[int, ...]:
    """Semantic versions in their order."""
    return tuple(int(part) for part in version.split("."))


def follows(version: str, parent: str) -> bool:
    """True when ``version`` is a next one after ``parent``: patch, minor or major raised by one."""
    major, minor, patch = version_key(parent)
    return version_key(version) in ((major, minor, patch + 1), (major, minor + 1, 0), (major + 1, 0, 0))


def read_lock(path: Path, problems: Problems) -> dict[str, LockEntry]:
    """Version to digest, as the lock file has them; nothing without a file. Malformed lines are noted."""
    if not path.exists() and not path.is_symlink():
        return {}
    return parse_lock(read_source(path, problems) or "", path, problems)


def parse_lock(text: str, path: Path, problems: Problems) -> dict[str, LockEntry]:
    """The entries of a lock file's text; malformed lines are noted."""
    entries: dict[str, LockEntry] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        if len(parts) != 2 or not is_version(parts[0]) or not _DIGEST.fullmatch(parts[1]):
            problems.add("lock-file", path, f"{shown(line)} is not VERSION DIGEST", number)
        elif parts[0] in entries:
            problems.add("lock-file", path, f"{parts[0]} occurs twice", number)
        else:
            entries[parts[0]] = LockEntry(parts[1], number)
    return entries


def lock_text(digests: dict[str, str]) -> str:
    """The lock file for these versions, oldest first."""
    lines = [f"{version} {digests[version]}\n" for version in sorted(digests, key=version_key)]
    return _LOCK_HEADER + "".join(lines)
