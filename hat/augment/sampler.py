"""Sampling harness states: a pure function of (harness digest, task digest, seed, split, settings).

Wordings are part of the settings, by their content, and enter the source of chance by their digest.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hat.augment.config import TEST_ONLY_COMPOSITIONS, AugmentConfig, test_only_settings
from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS, Draw, Skip, Transform
from hat.domains.base import Task
from hat.errors import BadInput
from hat.files import sha256_text
from hat.harness.model import Harness

TEST = "test"


@dataclass(frozen=True)
class Step:
    """One family's part in a state."""

    transform: Transform
    before: HarnessState
    after: HarnessState


def sample_state(
    harness: Harness, *, seed: int, split: str, config: AugmentConfig, task: Task | None = None
) -> HarnessState:
    """One harness state.

    With probability ``config.original_share`` it is the unchanged harness, whose ``families`` are empty. With ``task``
    the state may lack what only other tasks need (`HarnessState.serves`).

    Raises:
        BadInput: the settings ask for what is kept for the test split.
    """
    state, _ = sample_steps(harness, seed=seed, split=split, config=config, task=task)
    return state


def sample_steps(
    harness: Harness, *, seed: int, split: str, config: AugmentConfig, task: Task | None = None
) -> tuple[HarnessState, list[Step]]:
    """A state and the steps that led to it, in order; see `sample_state`."""
    check_split(config, split)
    source = f"{harness.digest}/{split}/{seed}" + (f"/{task.digest}" if task else "")
    if config.wordings is not None:
        source += f"/{config.wordings.digest}"
    rng = random.Random(sha256_text(source))
    original = HarnessState.original(harness)
    state = replace(original, seed=seed, split=split, task=task.digest if task else "")
    if rng.random() < config.original_share:
        return state, []
    if config.depth is None:
        draw = Draw(rng, split, config, task)
        return apply_all(state, [(transform, draw) for transform in _by_chance(config, rng)])
    first, others = _by_depth(config, config.depth, split, rng)

    def own_draw(transform: Transform) -> Draw:
        # Each family has its own source of chance: what one draws does not depend on which others take part.
        return Draw(random.Random(sha256_text(f"{source}/{transform.family}")), split, config, task)

    state, steps = apply_all(state, [(transform, own_draw(transform)) for transform in first])
    for transform in others:
        if steps:
            break
        state, steps = apply_all(state, [(transform, own_draw(transform))])
    return state, steps


def apply_all(
    state: HarnessState, transforms: Sequence[tuple[Transform, Draw]]
) -> tuple[HarnessState, list[Step]]:
    """The transforms one after the other; one that skips leaves its reason with the state."""
    steps: list[Step] = []
    for transform, draw in transforms:
        before = state
        already = len(draw.notes)
        try:
            after = transform.apply(before, draw)
        except Skip as skip:
            state = replace(state, skipped=(*state.skipped, (transform.family, str(skip))))
            continue
        notes = tuple((transform.family, note) for note in draw.notes[already:])
        state = replace(
            after,
            families=(*before.families, transform.family),
            skipped=(*before.skipped, *notes),
            regenerates=before.regenerates or transform.regenerates,
        )
        steps.append(Step(transform, before, state))
    return state, steps


def check_split(config: AugmentConfig, split: str) -> None:
    """Refuse settings that ask for what is kept for the test split, or that are not whole.

    Raises:
        BadInput: a test-only family or layout in another split, or so deep a state of so few families that it would
            need a test-only composition; or they name wordings that were not fetched.
    """
    if config.wordings_digest and config.wordings is None:
        raise BadInput(
            "the settings name wordings and do not hold them",
            where="augment.wordings_digest",
            mend="A run's step `resolve` fetches them; elsewhere give the wordings themselves.",
        )
    if split == TEST:
        return
    kept = test_only_settings(config)
    if kept:
        raise BadInput(
            f"{kept[0]} is kept for the test split, not {split}",
            mend="Take it out of augment.families or augment.layouts.",
        )
    if config.depth is None:
        return
    reachable = len(config.families) - sum(pair <= set(config.families) for pair in TEST_ONLY_COMPOSITIONS)
    if config.depth[0] > reachable:
        pairs = ", ".join("+".join(sorted(pair)) for pair in TEST_ONLY_COMPOSITIONS)
        raise BadInput(
            f"{config.depth[0]} of the families {', '.join(config.families)} cannot be in one state of split {split}",
            mend=f"Lower augment.depth or name more families; the compositions {pairs} are kept for the test split.",
        )


def _by_chance(config: AugmentConfig, rng: random.Random) -> list[Transform]:
    allowed = [transform for transform in TRANSFORMS if transform.family in config.families]
    chosen = [transform for transform in allowed if rng.random() < config.probability]
    if not chosen and allowed:
        chosen = [rng.choice(allowed)]
    return chosen


def _by_depth(
    config: AugmentConfig, depth: tuple[int, int], split: str, rng: random.Random
) -> tuple[list[Transform], list[Transform]]:
    """The families drawn, in their order of application, and the rest in the order in which they may step in.

    A weighted order without replacement (Efraimidis and Spirakis, 2006), of which the first are taken.
    """
    allowed = [transform for transform in TRANSFORMS if transform.family in config.families]
    keys = {t.family: rng.random() ** (1 / config.weights.get(t.family, 1.0)) for t in allowed}
    ranked = sorted(allowed, key=lambda transform: -keys[transform.family])
    count = rng.randint(*depth)
    chosen: list[Transform] = []
    for transform in ranked:
        if len(chosen) < count and (split == TEST or not _held_out({transform.family}, chosen)):
            chosen.append(transform)
    rest = [transform for transform in ranked if transform not in chosen]
    return sorted(chosen, key=TRANSFORMS.index), rest


def _held_out(families: set[str], chosen: Sequence[Transform]) -> bool:
    together = families | {transform.family for transform in chosen}
    return any(pair <= together for pair in TEST_ONLY_COMPOSITIONS)


class Skipping(Protocol):
    """A state, or what is kept of it: families and reasons."""

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]: ...


def skipped_reasons(states: Sequence[Skipping]) -> Iterator[tuple[str, str, int]]:
    """(family, reason, number of states) over all states, the most frequent first."""
    counts: dict[tuple[str, str], int] = {}
    for state in states:
        for entry in set(state.skipped):
            counts[entry] = counts.get(entry, 0) + 1
    for (family, reason), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield family, reason, count
