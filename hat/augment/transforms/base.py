"""What a transform is: it maps a harness state to another and declares what it may change."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState


@dataclass(frozen=True)
class Draw:
    """Where a transform's choices come from."""

    rng: random.Random
    split: str
    config: AugmentConfig


@dataclass(frozen=True)
class Transform:
    """One family.

    ``surfaces`` are the fields of `hat.harness.model.Harness` or of `hat.augment.codec.Codec` that it may change.
    ``apply`` returns the state unchanged where it finds nothing to do.
    """

    family: str
    summary: str
    surfaces: frozenset[str]
    apply: Callable[[HarnessState, Draw], HarnessState]
