"""Packs of twins: what one optimiser step learns from holds both members of each of its pairs."""

import random
from collections.abc import Sequence

from hat.files import canonical_json
from hat.training.plan import PlannedPack
from hat.trajectories.twins import PlayedPair


def plan_twin_packs(played: Sequence[PlayedPair], per_pack: int) -> list[PlannedPack]:
    """Pairs of one rule and session together, at most ``per_pack`` in a pack: they share both prompts."""
    groups: dict[str, list[PlayedPair]] = {}
    for one in played:
        key = canonical_json([one.pair.kind, one.pair.name, dict(one.plain.task.session)])
        groups.setdefault(key, []).append(one)
    return [
        _pack(group[start : start + per_pack])
        for group in groups.values()
        for start in range(0, len(group), per_pack)
    ]


def mix(packs: Sequence[PlannedPack], more: Sequence[PlannedPack], seed: int) -> list[PlannedPack]:
    """Both in an order drawn from the seed; without any ``more``, the packs as they are."""
    if not more:
        return list(packs)
    mixed = [*packs, *more]
    random.Random(f"{seed}/twins").shuffle(mixed)
    return mixed


def _pack(pairs: Sequence[PlayedPair]) -> PlannedPack:
    first = pairs[0].pair
    twin = PlannedPack(None, tuple(one.twin for one in pairs), state=first.twin.state)
    return PlannedPack(None, tuple(one.plain for one in pairs), state=first.plain.state, twin=twin)
