"""Sampling harness states: a pure function of (harness digest, seed, split, settings)."""

import random
from dataclasses import replace

from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS, Draw
from hat.files import sha256_text
from hat.harness.model import Harness


def sample_state(harness: Harness, *, seed: int, split: str, config: AugmentConfig) -> HarnessState:
    """One harness state.

    With probability ``config.original_share`` it is the unchanged harness, whose ``families`` are empty.
    """
    rng = random.Random(sha256_text(f"{harness.digest}/{split}/{seed}"))
    state = replace(HarnessState.original(harness), seed=seed, split=split)
    if rng.random() < config.original_share:
        return state
    allowed = [transform for transform in TRANSFORMS if transform.family in config.families]
    chosen = [transform for transform in allowed if rng.random() < config.probability]
    if not chosen and allowed:
        chosen = [rng.choice(allowed)]
    draw = Draw(rng, split, config)
    for transform in chosen:
        state = transform.apply(state, draw)
    return replace(state, families=tuple(transform.family for transform in chosen))
