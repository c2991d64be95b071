"""A new version as a copy of an earlier one, ready to be edited."""

import os
import shutil
import tempfile
from pathlib import Path

from hat.errors import BadInput
from hat.files import as_environment_failure
from hat.harness.digest import folder_files
from hat.harness.load import MANIFEST, load_harness, read_text
from hat.harness.registry import Registry
from hat.harness.versions import CHANGED_PLACEHOLDER, is_version, version_key


def new_version(registry: Registry, name: str, version: str, parent: str) -> Path:
    """Copy the files of ``parent`` to a new version whose harness.yaml names its parent; returns the folder.

    Raises:
        BadInput: unknown harness or parent; a version that is malformed, exists or comes before its parent.
        EnvironmentFailure: the registry cannot be written; nothing half-written stays.
    """
    if not is_version(version):
        raise BadInput(f"{version!r} is no version", mend="Write three numbers, as in 1.4.0.")
    source = registry.folder(name, parent)
    target = source.parent / version
    if target.exists():
        raise BadInput(f"{name}@{version} exists already", where=str(target))
    if version_key(version) <= version_key(parent):
        raise BadInput(f"{version} does not come after {parent}", where=str(source.parent))
    load_harness(source, name=name, version=parent)
    manifest = _renumbered(read_text(source / MANIFEST), version, parent, str(source / MANIFEST))
    try:
        # Filled beside the versions folder and then renamed into it, so that no half version can appear.
        with tempfile.TemporaryDirectory(dir=registry.root / name, prefix=".new-") as work:
            folder = Path(work) / version
            for path in folder_files(source):
                copy = folder / path.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
            (folder / MANIFEST).write_text(manifest, encoding="utf-8")
            os.rename(folder, target)
    except OSError as error:
        raise as_environment_failure(error, target) from error
    return target


def _renumbered(text: str, version: str, parent: str, where: str) -> str:
    """The manifest with version, parent and changed replaced; all other lines and comments stay."""
    values = {"version": version, "parent": parent, "changed": CHANGED_PLACEHOLDER}
    lines: list[str] = []
    replacing = False
    for line in text.split("\n"):
        if line.startswith("#"):
            replacing = False
        starts_key = bool(line) and not line[0].isspace() and line[0] not in "#-"
        if starts_key:
            key = line.partition(":")[0].strip().strip("'\"")
            replacing = key in values
            if replacing:
                lines.append(f"{key}: {values.pop(key)}")
        if not replacing:
            lines.append(line)
    if values:
        raise BadInput(f"{MANIFEST} must have {', '.join(values)} at the beginning of a line", where=where)
    return "\n".join(lines)
