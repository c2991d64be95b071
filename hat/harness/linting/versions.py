"""Versions against each other and the lock: parents, numbers, and files that must not have changed."""

from pathlib import Path

from hat.harness.linting.subject import Subject
from hat.harness.problems import Problems
from hat.harness.versions import CHANGED_PLACEHOLDER, LOCK_FILE, LockEntry, follows, is_version, version_key


def check_parent(subject: Subject, siblings: list[str], problems: Problems) -> None:
    """``siblings`` are all versions of the harness, oldest first."""
    manifest, file = subject.reading.manifest, subject.manifest_path
    if manifest is None:
        return
    if manifest.changed.strip() == CHANGED_PLACEHOLDER or (
        subject.parent is not None and subject.parent.changed == manifest.changed
    ):
        message = "`changed` does not say what changed against the parent"
        problems.add("change-untold", file, message, subject.line("changed"))
    line = subject.line("parent")
    earlier = [version for version in siblings if version_key(version) < version_key(manifest.version)]
    if manifest.parent is None:
        if earlier:
            message = f"parent is null, but {', '.join(earlier[-3:])} came before"
            problems.add("version-parent", file, message, line)
        return
    if manifest.parent not in siblings:
        problems.add("version-parent", file, f"the parent {manifest.parent} does not exist", line)
    elif version_key(manifest.parent) >= version_key(manifest.version):
        message = f"{manifest.version} does not come after its parent {manifest.parent}"
        problems.add("version-parent", file, message, line)
    elif not follows(manifest.version, manifest.parent):
        message = f"{manifest.version} is not a next number after its parent {manifest.parent}"
        problems.add("version-step", file, message, subject.line("version"))


def check_locked(
    subject: Subject, lock: dict[str, LockEntry], digest: str | None, problems: Problems
) -> None:
    """One version's files against its line in the lock; ``digest`` is None where it cannot be computed."""
    folder = subject.reading.folder
    entry = lock.get(folder.name)
    if entry is None:
        problems.add("unlocked", folder, f"{folder.name} is not in {LOCK_FILE} yet")
    elif digest != entry.digest:
        problems.add("locked-digest", folder, f"the files differ from {LOCK_FILE}, line {entry.line}")


def check_versions_folder(harness_folder: Path, lock: dict[str, LockEntry], problems: Problems) -> None:
    """Folders that are no version, and locked versions that are gone."""
    folder = harness_folder / "versions"
    for path in sorted(folder.iterdir()):
        if not is_version(path.name) or not path.is_dir():
            problems.add("version-folder", path, "only folders named like 1.4.0 belong here")
    for version, entry in lock.items():
        if not (folder / version).is_dir():
            message = f"{version} is locked, but its folder is gone"
            problems.add("locked-digest", harness_folder / LOCK_FILE, message, entry.line)
