"""What a gate found: which symbol, why, and which transform had its hands there."""

from dataclasses import asdict, dataclass
from typing import Any

from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS


@dataclass(frozen=True)
class Finding:
    """One broken invariant.

    ``surface`` is the field of `hat.harness.model.Harness`, or ``codec.`` and a field of `hat.augment.codec.Codec`,
    in which it shows; empty where it shows only in the whole episode.
    """

    symbol: str
    why: str
    surface: str = ""
    family: str = ""
    """The transform, where it is known."""


@dataclass(frozen=True)
class GateFailure:
    """A finding on one state."""

    gate: str
    seed: int
    split: str
    digest: str
    families: tuple[str, ...]
    transform: str
    """The one whose step is broken; else those of the state that may change the surface, joined by ``+``; else all."""
    symbol: str
    message: str

    @classmethod
    def of(cls, gate: str, state: HarnessState, finding: Finding) -> "GateFailure":
        suspects = [
            transform.family
            for transform in TRANSFORMS
            if transform.family in state.families and finding.surface in transform.surfaces
        ]
        return cls(
            gate=gate,
            seed=state.seed,
            split=state.split,
            digest=state.digest,
            families=state.families,
            transform=finding.family or "+".join(suspects or state.families) or "none",
            symbol=finding.symbol,
            message=finding.why,
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "families": list(self.families)}
