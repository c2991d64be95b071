"""What a registry holds, read from the manifests alone, so that a thousand versions list quickly."""

from dataclasses import asdict, dataclass
from typing import Any

from hat.harness.load import read_manifest
from hat.harness.problems import Problems
from hat.harness.registry import Registry
from hat.harness.versions import LOCK_FILE, read_lock


@dataclass(frozen=True)
class Row:
    """One version of a harness."""

    harness: str
    version: str
    parent: str | None
    changed: str
    locked: bool
    readable: bool
    """False when harness.yaml is malformed; parent and changed are empty then."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def list_registry(registry: Registry) -> list[Row]:
    """Every version, by harness and oldest first. A malformed version is listed, too.

    Raises:
        BadInput: the registry folder does not exist.
    """
    rows = []
    for name in registry.names():
        lock = read_lock(registry.root / name / LOCK_FILE, Problems())
        for version in registry.versions(name):
            _, manifest = read_manifest(registry.root / name / "versions" / version, Problems())
            rows.append(
                Row(
                    harness=name,
                    version=version,
                    parent=manifest.parent if manifest else None,
                    changed=manifest.changed if manifest else "",
                    locked=version in lock,
                    readable=manifest is not None,
                )
            )
    return rows
