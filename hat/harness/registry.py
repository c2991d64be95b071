"""The registry: a folder of harnesses, each with its versions, gate policy and lock file."""

import re
from dataclasses import dataclass
from pathlib import Path

from hat.errors import BadInput
from hat.harness.load import load_harness
from hat.harness.manifest import VERSION_PATTERN
from hat.harness.model import Harness
from hat.harness.problems import BadHarness, Problems
from hat.harness.versions import LOCK_FILE, is_version, read_lock, version_key
from hat.nearest import known_names

__all__ = ["LOCK_FILE", "Registry", "parse_reference", "version_key"]

_REFERENCE = re.compile(rf"([a-z0-9-]{{1,64}})(?:@({VERSION_PATTERN}))?")


def parse_reference(reference: str) -> tuple[str, str | None]:
    """``live-shop@1.0.0`` as name and version; without a version, None.

    Raises:
        BadInput: the text is neither NAME nor NAME@VERSION.
    """
    match = _REFERENCE.fullmatch(reference)
    if not match:
        raise BadInput(
            f"{reference!r} is not a harness", mend="Write NAME or NAME@VERSION, as in live-shop@1.0.0."
        )
    return match.group(1), match.group(2)


@dataclass(frozen=True)
class Registry:
    """A registry folder. Every read goes to the files: there is nothing to keep in step."""

    root: Path

    def parse(self, reference: str) -> tuple[str, str | None]:
        """As `parse_reference`; what is no reference is told together with the names that there are.

        Raises:
            BadInput: the text is neither NAME nor NAME@VERSION.
        """
        try:
            return parse_reference(reference)
        except BadInput as error:
            name, _, version = reference.partition("@")
            names = self.names() if self.root.is_dir() else []
            if name in names:
                known = known_names(version, self.versions(name), from_end=True)
            else:
                known = known_names(name, names) if names else ""
            raise BadInput(error.what, mend=f"{error.mend} {known}".rstrip()) from None

    def names(self) -> list[str]:
        """Harness names.

        Raises:
            BadInput: the registry folder does not exist.
        """
        if not self.root.is_dir():
            raise BadInput(
                "no such harness registry", where=str(self.root), mend="Give its folder with --registry."
            )
        return sorted(path.name for path in self.root.iterdir() if (path / "versions").is_dir())

    def versions(self, name: str) -> list[str]:
        """Versions of a harness, oldest first; the linter reports folders that are no version.

        Raises:
            BadInput: no harness of that name.
        """
        if name not in self.names():
            mend = known_names(name, self.names())
            raise BadInput(f"no harness named {name!r}", where=str(self.root), mend=mend)
        folders = (self.root / name / "versions").iterdir()
        return sorted(
            (path.name for path in folders if is_version(path.name) and path.is_dir()), key=version_key
        )

    def folder(self, name: str, version: str | None) -> Path:
        """The folder of a version; of the latest one, without a version.

        Raises:
            BadInput: no such harness or version.
        """
        versions = self.versions(name)
        if not versions:
            raise BadInput("the harness has no versions", where=str(self.root / name))
        if version is not None and version not in versions:
            raise BadInput(
                f"{name} has no version {version}",
                where=str(self.root),
                mend=known_names(version, versions, from_end=True),
            )
        return self.root / name / "versions" / (version or versions[-1])

    def load(self, name: str, version: str | None = None) -> Harness:
        """The harness, once its files match the lock.

        Raises:
            BadInput: unknown name or version, malformed files, or files that differ from ``versions.lock``.
        """
        folder = self.folder(name, version)
        harness = load_harness(folder, name=name, version=folder.name)
        locked = self.locked(name).get(harness.version)
        if locked is not None and locked != harness.digest:
            problems = Problems()
            problems.add(
                "locked-digest", folder, f"the files of {name}@{harness.version} differ from {LOCK_FILE}"
            )
            raise BadHarness(problems.found, where=str(folder))
        return harness

    def gate_policy(self, name: str) -> Path:
        return self.root / name / "gate.yaml"

    def locked(self, name: str) -> dict[str, str]:
        """Version to digest, as ``versions.lock`` has them.

        Raises:
            BadHarness: a malformed lock file.
        """
        path = self.root / name / LOCK_FILE
        problems = Problems()
        entries = read_lock(path, problems)
        if problems.errors:
            raise BadHarness(problems.sorted(), where=str(path))
        return {version: entry.digest for version, entry in entries.items()}
