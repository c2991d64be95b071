"""The registry: a folder of harnesses, each with its versions, gate policy and lock file."""

import re
from dataclasses import dataclass
from pathlib import Path

from hat.errors import BadInput
from hat.harness.digest import digest_folder
from hat.harness.load import load_harness
from hat.harness.model import Harness

_REFERENCE = re.compile(r"^([a-z0-9-]{1,64})(?:@(\d+\.\d+\.\d+))?$")
LOCK_FILE = "versions.lock"


def parse_reference(reference: str) -> tuple[str, str | None]:
    """``live-shop@1.0.0`` as name and version; without a version, None.

    Raises:
        BadInput: the text is neither NAME nor NAME@VERSION.
    """
    match = _REFERENCE.match(reference)
    if not match:
        raise BadInput(f"{reference!r} is not a harness", mend="Write NAME or NAME@VERSION, as in live-shop@1.0.0.")
    return match.group(1), match.group(2)


def version_key(version: str) -> tuple[int, ...]:
    """Semantic versions in their order."""
    return tuple(int(part) for part in version.split("."))


@dataclass(frozen=True)
class Registry:
    """A registry folder. Every read goes to the files: there is nothing to keep in step."""

    root: Path

    def names(self) -> list[str]:
        """Harness names.

        Raises:
            BadInput: the registry folder does not exist.
        """
        if not self.root.is_dir():
            raise BadInput("no such harness registry", where=str(self.root), mend="Give its folder with --registry.")
        return sorted(path.name for path in self.root.iterdir() if (path / "versions").is_dir())

    def versions(self, name: str) -> list[str]:
        """Versions of a harness, oldest first."""
        if name not in self.names():
            raise BadInput(
                f"no harness named {name!r}", where=str(self.root), mend=f"Known: {', '.join(self.names())}."
            )
        folders = (self.root / name / "versions").iterdir()
        return sorted((path.name for path in folders if path.is_dir()), key=version_key)

    def folder(self, name: str, version: str | None) -> Path:
        """The folder of a version; of the latest one, without a version."""
        versions = self.versions(name)
        if not versions:
            raise BadInput("the harness has no versions", where=str(self.root / name))
        if version is not None and version not in versions:
            raise BadInput(
                f"{name} has no version {version}", where=str(self.root), mend=f"Known: {', '.join(versions)}."
            )
        return self.root / name / "versions" / (version or versions[-1])

    def load(self, name: str, version: str | None = None) -> Harness:
        """The harness, once its files match the lock.

        Raises:
            BadInput: unknown name or version, malformed files, or a digest that differs from ``versions.lock``.
        """
        folder = self.folder(name, version)
        harness = load_harness(folder)
        locked = self.locked(name).get(harness.version)
        if locked is not None and locked != harness.digest:
            raise BadInput(
                f"the files of {name}@{harness.version} differ from {LOCK_FILE}",
                where=str(folder),
                mend="A merged version is immutable: restore its files and make a new version.",
            )
        return harness

    def gate_policy(self, name: str) -> Path:
        return self.root / name / "gate.yaml"

    def locked(self, name: str) -> dict[str, str]:
        """Version to digest, as ``versions.lock`` has them: one ``VERSION DIGEST`` a line."""
        path = self.root / name / LOCK_FILE
        if not path.exists():
            return {}
        entries = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            parts = line.split()
            if not parts or line.startswith("#"):
                continue
            if len(parts) != 2:
                raise BadInput("a line is VERSION DIGEST", where=f"{path}:{number}")
            entries[parts[0]] = parts[1]
        return entries

    def lock_text(self, name: str) -> str:
        """The lock file's text for the versions as they are on disk."""
        lines = [f"{version} {digest_folder(self.folder(name, version))}" for version in self.versions(name)]
        return "\n".join(lines) + "\n"
