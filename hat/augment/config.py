"""Settings of Harness-State Augmentation: which families, how often, how deep, and how many states."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from hat.augment.wordings.document import Wordings
from hat.harness.model import Layout

Probability = Annotated[float, Field(ge=0, le=1)]

FAMILIES = (
    *("S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8"),
    *("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8"),
    *("P1", "P2", "P3", "P4"),
    *("K1", "K2", "K3", "K4"),
)
"""The families that exist. The order in which they are applied is the one of `hat.augment.transforms`."""

Dimension = Literal["skills", "rules", "tools", "prompt", "hooks"]
DIMENSIONS: Mapping[Dimension, tuple[str, ...]] = {
    "skills": ("S1", "S2", "S3", "S4"),
    "rules": ("S5", "S6", "S7", "S8"),
    "tools": ("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8"),
    "prompt": ("P1", "P2", "P3", "P4"),
    "hooks": ("K1", "K2", "K3", "K4"),
}
"""The five dimensions of Harness-State Augmentation and their families. Simulated faults (K5) belong to `hooks`: they
are set by `generate.fault_share` and `rl.fault_share`."""

DEFAULT_FAMILIES = ("S1", "S3", "S4", "T1", "T2", "T4", "P1", "P3", "K1")
"""What training uses unless it is told otherwise."""

TEST_ONLY_FAMILIES = ("T5", "K4")
"""Kept unseen: refused outside of the test split."""
TEST_ONLY_COMPOSITIONS = (frozenset({"T2", "P3"}), frozenset({"S8", "P1"}))
"""Pairs that a state sampled by ``depth`` has in the test split only."""
TEST_ONLY_LAYOUTS: tuple[Layout, ...] = ("xml",)
TRAINING_LAYOUTS: tuple[Layout, ...] = ("markdown", "plain", "json")

FULL = "full"
"""The preset: written as ``families: full``."""
FULL_DEPTH = (1, 4)
FULL_WEIGHTS: Mapping[str, float] = {"S1": 1.5, "S6": 1.5, "T1": 2.0, "T2": 2.0, "T3": 1.5, "P3": 1.5}
"""The preset draws names and wordings more often than the rest: reading them is what a new version asks for first."""


class AugmentConfig(BaseModel):
    """How harness states are sampled.

    ``families: full`` is a preset: every family but those kept for the test split, `FULL_DEPTH` of them in a state,
    drawn with `FULL_WEIGHTS`. What is set beside it wins.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    states: Annotated[int, Field(ge=1)] = 112
    """States planned and verified for training; each is used for `tasks_per_state` tasks."""
    tasks_per_state: Annotated[int, Field(ge=1)] = 5
    """Tasks learnt whole under one state, behind one prompt prefix."""
    original_share: Probability = 0.2
    """Share of states that are the unchanged harness."""
    families: tuple[str, ...] = DEFAULT_FAMILIES
    """Families that may be used, or ``full``."""
    without: tuple[Dimension, ...] = ()
    """Dimensions left out, for an ablation: their families are taken out of `families`."""
    probability: Probability = 0.6
    """Chance of each family to be part of an augmented state; at least one always is. Not used with `depth`."""
    depth: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] | None = None
    """Fewest and most families in an augmented state; null: each family by its own chance, `probability`."""
    weights: dict[str, Annotated[float, Field(gt=0)]] = {}
    """With `depth`: how much more often than 1 a family is drawn."""
    opaque_share: Probability = 0.45
    """Share of renamings whose names say nothing."""
    partial_share: Probability = 0.5
    """Share of renamings (S1, T1, T2) that keep some of the names, most of them more often than few: a next
    version renames one tool, not all, and next to names that stayed a new one is easily taken for the old."""
    layouts: tuple[Layout, ...] = TRAINING_LAYOUTS
    """Layouts that P3 may choose. `xml` is kept unseen: it is refused outside of the test split."""
    wordings: Wordings | None = None
    """A strong model's wordings, from which S2, T3 and K1 choose beside the hand-written ones."""
    wordings_digest: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    """Their digest; `resolve` takes the wordings that it names from the store. Empty: none, or as given."""

    @classmethod
    def full(cls, split: str, **settings: Any) -> "AugmentConfig":
        """Every family that is legal in a split, in any composition that is legal there."""
        if split == "test":
            settings = {"families": FAMILIES, "layouts": (*TRAINING_LAYOUTS, *TEST_ONLY_LAYOUTS), **settings}
            return cls(**{"depth": FULL_DEPTH, "weights": dict(FULL_WEIGHTS), **settings})
        preset = cls.model_validate({"families": FULL})
        return cls(**{**preset.model_dump(include={"families", "depth", "weights"}), **settings})

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, values: Any) -> Any:
        """`families` written out: of the preset, and without the dimensions left out."""
        if not isinstance(values, Mapping):
            return values
        if values.get("families") == FULL:
            families = tuple(family for family in FAMILIES if family not in TEST_ONLY_FAMILIES)
            values = {"depth": FULL_DEPTH, "weights": dict(FULL_WEIGHTS), **values, "families": families}
        if not values.get("without"):
            return values
        left_out = {family for name in values["without"] for family in DIMENSIONS.get(name, ())}
        given = tuple(values.get("families", DEFAULT_FAMILIES))
        kept = tuple(family for family in given if family not in left_out)
        if given and not kept:
            raise ValueError(f"without {', '.join(values['without'])} no family is left")
        return {**values, "families": kept}

    @field_validator("families")
    @classmethod
    def _known(cls, families: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [family for family in families if family not in FAMILIES]
        if unknown:
            raise ValueError(f"unknown families {', '.join(unknown)}; known: {', '.join(FAMILIES)}")
        return families

    @field_validator("weights")
    @classmethod
    def _weighted(cls, weights: dict[str, float]) -> dict[str, float]:
        cls._known(tuple(weights))
        return weights

    @field_validator("wordings", mode="before")
    @classmethod
    def _read(cls, wordings: Any) -> Any:
        if isinstance(wordings, str):
            raise ValueError(
                "it holds the wordings themselves; on a command line, `--set` reads them from a file"
            )
        return wordings

    @model_validator(mode="after")
    def _same_wordings(self) -> "AugmentConfig":
        if self.wordings is not None and self.wordings_digest not in ("", self.wordings.digest):
            raise ValueError("wordings_digest is not the digest of the wordings")
        return self

    @field_validator("depth")
    @classmethod
    def _ordered(cls, depth: tuple[int, int] | None) -> tuple[int, int] | None:
        if depth is not None and depth[0] > depth[1]:
            raise ValueError(f"the fewest families, {depth[0]}, are more than the most, {depth[1]}")
        return depth


def test_only_settings(config: AugmentConfig) -> list[str]:
    """What of the settings is kept for the test split, in words; empty where none is."""
    found = [f"family {family}" for family in config.families if family in TEST_ONLY_FAMILIES]
    return found + [f"layout {layout}" for layout in config.layouts if layout in TEST_ONLY_LAYOUTS]
