"""Tries tasks before reinforcement learning: those that a model solves always, or never, teach it nothing."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hat.agent.episode import Episode
from hat.agent.faults import with_faults
from hat.agent.policies.local import LocalPolicy
from hat.domains.base import Domain
from hat.training.config import RLConfig
from hat.training.mixture import Unit
from hat.training.rollouts import Group, scores_of


def solved_counts(
    model: tuple[Any, Any], groups: Sequence[Group], domain: Domain, config: RLConfig, seed: int
) -> list[int]:
    """How often each group's task is solved of ``config.screen_rollouts`` times, under its state and its faults.

    ``model`` is a loaded model and its tokenizer.
    """
    policy = LocalPolicy(
        model,
        max_new_tokens=config.max_new_tokens,
        temperature=config.screen_temperature,
        seed=seed * 1_000_003 + 1,
        name="screening",
    )
    episodes = [
        Episode(group.state, group.task, domain, f"{group.task.id}/screening/{number}")
        for group in groups
        for number in range(config.screen_rollouts)
    ]
    schedules = {group.task.id: group.faults for group in groups if group.faults is not None}
    policy.play(episodes, with_faults(domain.execute, schedules), lambda index: None)
    right = [scores_of(domain, episode).accuracy == 1 for episode in episodes]
    size = config.screen_rollouts
    return [sum(right[start : start + size]) for start in range(0, len(right), size)]


def keep_unsettled(units: Sequence[Unit], solved: Sequence[int], rollouts: int) -> list[Unit]:
    """The units of which some rollouts were right and some were not; ``solved`` is by group, in the units' order."""
    counts = iter(solved)
    kept = []
    for unit in units:
        right = [next(counts) for _ in unit.groups]
        if 0 < sum(right) < rollouts * len(right):
            kept.append(unit)
    return kept


def screening_report(
    units: Sequence[Unit], solved: Sequence[int], kept: Sequence[Unit]
) -> dict[str, dict[str, int]]:
    """For the log: by kind how many units were tried and how many are used, and how often tasks were solved."""
    return {
        "tried": dict(Counter(unit.kind for unit in units)),
        "kept": dict(Counter(unit.kind for unit in kept)),
        "solved": {str(count): number for count, number in sorted(Counter(solved).items())},
    }
