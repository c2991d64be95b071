"""Settings of the full suites, and what a suite is once its items are drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hat.augment.config import AugmentConfig
from hat.evaluation.items import SEED_STRIDE, SuiteItem

_FULL_SUITES = 20_000
"""Where the seeds of these suites begin, apart from those of the four suites of a run."""


class SuiteSettings(BaseModel):
    """Which items a full suite has. The same settings give every model the same items."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    split: Literal["dev", "test"] = "dev"
    """Whose products, phrasings, names and layouts."""
    items: int | None = Field(default=None, ge=1)
    """Items of a suite; of each component, in Tool/Prompt Robustness; of each version, in evolution. None: the suite's
    own number."""
    tasks_per_state: int = Field(default=4, ge=1, le=4)
    """Questions that share one state, one session and so one prompt prefix: 200 questions make 50 states."""
    seed: int = Field(default=0, ge=0)
    """Draws the items."""

    @property
    def first_seed(self) -> int:
        return self.seed * SEED_STRIDE + _FULL_SUITES


@dataclass(frozen=True)
class Suite:
    """A suite's items, and how its states are proven before they are played."""

    name: str
    items: tuple[SuiteItem, ...]
    sampled_with: Mapping[str, AugmentConfig] = field(default_factory=dict)
    """By digest of a state: the settings that give it again, so that all gates are asked of it."""
    changed: frozenset[str] = frozenset()
    """Digests of states that no family made: all gates but G1 are asked of them."""
