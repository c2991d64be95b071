"""One difference between two versions of a harness, as a value."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Part = Literal["tool", "argument", "skill", "block", "rule", "hook", "limit", "layout", "binding", "domain"]
Kind = Literal["renamed", "added", "removed", "reworded", "moved", "reordered", "changed"]


@dataclass(frozen=True)
class Change:
    """What became of one part. ``before`` is empty for what was added, ``after`` for what was removed."""

    part: Part
    kind: Kind
    subject: str
    """What changed, under its later name where it has one: ``lookup_item``, ``after-sales, item 1``."""
    before: str = ""
    after: str = ""
    note: str = ""


@dataclass(frozen=True)
class Version:
    """One side of a comparison."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True)
class Difference:
    """All differences between two versions; their number, parent and `changed` text are no differences."""

    before: Version
    after: Version
    changed: str
    """What the later version says about itself."""
    changes: tuple[Change, ...]

    def to_json(self) -> dict[str, Any]:
        return {"schema_version": 1, **asdict(self), "changes": [asdict(change) for change in self.changes]}
