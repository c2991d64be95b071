"""One difference between two versions of a harness, as a value."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Part = Literal["tool", "argument", "skill", "block", "rule", "hook", "limit", "layout", "binding", "domain"]
Risk = Literal["cosmetic", "preserving", "behaviour-changing"]
RISKS: tuple[Risk, ...] = ("cosmetic", "preserving", "behaviour-changing")
"""From nothing the model sees, over what leaves every task's solution as it is, to what may change what is right."""
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
    risk: Risk = field(default="behaviour-changing", kw_only=True)
    why: str = field(default="", kw_only=True)
    """What the class was told by."""
    training: str = field(default="", kw_only=True)
    """What it means for training."""
    refused: tuple[str, ...] = field(default=(), kw_only=True)
    """For schemas: calls valid before that are refused now."""


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
        risks = {risk: sum(change.risk == risk for change in self.changes) for risk in RISKS}
        changes = [asdict(change) for change in self.changes]
        return {"schema_version": 1, **asdict(self), "risks": risks, "changes": changes}
