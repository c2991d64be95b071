"""What a watcher was asked to do, and what it says of each harness version."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["submitted", "waiting", "running", "finished", "held", "history", "busy", "refused"]


@dataclass(frozen=True)
class WatchOrder:
    """One watcher's settings."""

    profile: str
    """Name of a profile, or the path of its file."""
    images: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    experiment: str | None = None
    """Experiment of the runs; None for one a harness, of its name."""
    attempts: int = 1
    """How often a version is submitted at most: again only when a run ended without doing its work."""
    environment: str = ""
    """Whose ledger counts; empty: the profile's name."""

    @property
    def name(self) -> str:
        """The profile's name."""
        return Path(self.profile).stem

    @property
    def ledger(self) -> str:
        """The environment whose ledger counts."""
        return self.environment or self.name


@dataclass(frozen=True)
class Outcome:
    """What is true of one harness version after a pass."""

    harness: str
    version: str
    kind: Kind
    note: str = ""
    """Why, or how the run ended."""
    run_id: str = ""
    digest: str = ""
    commit: str = ""
    """The commit that a status of it belongs to."""
    verdict: str = ""
    state: str = ""
    """The run's state on the cluster."""

    def to_json(self) -> dict[str, str]:
        """An entry of `hat watch --json`."""
        return {**asdict(self)}
