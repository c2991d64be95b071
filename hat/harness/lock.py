"""Locking: writes the digests of new versions to ``versions.lock``, from when on their files never change."""

from dataclasses import dataclass

from hat.files import write_text_atomic
from hat.harness.digest import digest_folder
from hat.harness.lint import lint_version
from hat.harness.problems import BadHarness, Problem, errors_of
from hat.harness.registry import Registry
from hat.harness.versions import LOCK_FILE, lock_text


@dataclass(frozen=True)
class Locked:
    """What `lock_versions` did."""

    added: tuple[str, ...]
    kept: tuple[str, ...]


def lock_versions(registry: Registry, name: str) -> Locked:
    """Lock every version that is not locked yet.

    Raises:
        BadInput: unknown harness.
        BadHarness: a version has errors, among them files that differ from their line in the lock; then
            nothing is written.
    """
    kept = registry.locked(name)
    versions = registry.versions(name)
    problems: list[Problem] = []
    for version in versions:
        problems += errors_of(lint_version(registry.folder(name, version)))
    if problems:
        raise BadHarness(problems, where=str(registry.root / name))
    added = tuple(version for version in versions if version not in kept)
    if added:
        digests = {version: digest_folder(registry.folder(name, version)) for version in added}
        write_text_atomic(registry.root / name / LOCK_FILE, lock_text({**kept, **digests}))
    return Locked(added, tuple(version for version in versions if version in kept))
