"""Settings of Harness-State Augmentation: which families, how often, and how many states."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from hat.harness.model import Layout

Probability = Annotated[float, Field(ge=0, le=1)]

FAMILIES = ("S1", "S3", "S4", "T1", "T2", "T4", "P1", "P3", "K1")
"""The families that exist, in the order in which they are applied: names last, so that order never matters."""

TEST_ONLY_LAYOUTS: tuple[Layout, ...] = ("xml",)
TRAINING_LAYOUTS: tuple[Layout, ...] = ("markdown", "plain", "json")


class AugmentConfig(BaseModel):
    """How harness states are sampled."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    states: Annotated[int, Field(ge=1)] = 112
    """States planned and verified for training; each is used for `tasks_per_state` tasks."""
    tasks_per_state: Annotated[int, Field(ge=1)] = 5
    """Tasks learnt whole under one state, behind one prompt prefix."""
    original_share: Probability = 0.2
    """Share of states that are the unchanged harness."""
    families: tuple[str, ...] = FAMILIES
    """Families that may be used; leave some out for an ablation."""
    probability: Probability = 0.6
    """Chance of each family to be part of an augmented state; at least one always is."""
    opaque_share: Probability = 0.35
    """Share of renamings whose names say nothing."""
    layouts: tuple[Layout, ...] = TRAINING_LAYOUTS
    """Layouts that P3 may choose. `xml` is kept unseen: it is refused outside of the test split."""

    @field_validator("families")
    @classmethod
    def _known(cls, families: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [family for family in families if family not in FAMILIES]
        if unknown:
            raise ValueError(f"unknown families {', '.join(unknown)}; known: {', '.join(FAMILIES)}")
        return families
