"""`hat harness import`: a tools/list result or a plugin folder as a new version of a harness."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hat.errors import BadInput
from hat.files import as_environment_failure
from hat.harness.exchange.scaffold import scaffold
from hat.harness.exchange.sources import read_import
from hat.harness.load import SOURCE
from hat.harness.registry import Registry
from hat.harness.versions import is_version, version_key

IMPORT_FILE = f"{SOURCE}/import.json"


def import_harness(registry: Registry, path: Path, name: str, version: str) -> Path:
    """Write the new version; returns its folder. What the harness does not use is kept under ``source/``.

    Raises:
        BadInput: nothing to import, or a version that is malformed, exists or comes before the latest one.
        BadHarness: the source breaks its format; nothing is written.
        EnvironmentFailure: the registry cannot be written; nothing half-written stays.
    """
    if not is_version(version):
        raise BadInput(f"{version!r} is no version", mend="Write three numbers, as in 1.4.0.")
    source = read_import(path)
    target = registry.root / name / "versions" / version
    if target.exists():
        raise BadInput(f"{name}@{version} exists already", where=str(target))
    known = registry.root.is_dir() and name in registry.names()
    parent = next(reversed(registry.versions(name)), None) if known else None
    if parent is not None and version_key(version) <= version_key(parent):
        raise BadInput(f"{version} does not come after {parent}", where=str(target.parent))
    generated = scaffold(
        name=name,
        version=version,
        parent=parent,
        changed=source.said,
        tools=source.tools,
        skills=source.skills,
        has_hooks=source.has_hooks,
    )
    record = {"schema_version": 1, "kind": source.kind, "generated": sorted(generated)}
    files = {
        **source.files,
        **{file: text.encode("utf-8") for file, text in generated.items()},
        IMPORT_FILE: (json.dumps(record, indent=2) + "\n").encode("utf-8"),
    }
    _write(target, files, source.executable)
    return target


def _write(target: Path, files: Mapping[str, bytes], executable: frozenset[str]) -> None:
    """All files at once: filled beside the versions folder and renamed into it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parents[1], prefix=".import-") as work:
            folder = Path(work) / target.name
            for name, content in files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                if name in executable:
                    path.chmod(0o755)
            os.rename(folder, target)
    except OSError as error:
        raise as_environment_failure(error, target) from error
