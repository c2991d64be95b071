"""Composed groups for reinforcement learning: plain tasks, failing tools, tasks to decline, twins, in asked shares."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from hat.agent.episode import Episode
from hat.agent.faults import ALL_FAULTS, FaultSchedule
from hat.augment.config import AugmentConfig
from hat.augment.plan import require_proven
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.augment.twins.make import make_twins
from hat.domains.base import Domain, Task
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.training.config import RLConfig
from hat.training.rollouts import RL_SEEDS, Group, with_gold

PLAIN, FAULT, UNSOLVABLE, TWIN = "plain", "fault", "unsolvable", "twin"
_LOTS = (4, 16, 64)
"""Tasks drawn for each one wanted before there are held to be no more."""


@dataclass(frozen=True)
class Unit:
    """Groups that belong into one step: a group alone, or both members of a twin pair."""

    kind: str
    """`PLAIN`, `FAULT`, `UNSOLVABLE` or `TWIN`."""
    groups: tuple[Group, ...]


def plan_units(
    harness: Harness, domain: Domain, config: RLConfig, augment: AugmentConfig, seed: int
) -> list[Unit]:
    """The groups of a run or, where tasks are screened, the candidates for them; a pure function of its arguments.

    Raises:
        BadInput: the domain has too few such tasks, its expert does not reply to one, scoring one fails, or a gate
            fails on a state.
    """
    total = config.screen_tasks or config.own_rounds * config.groups_per_step
    counts = unit_counts(total, config)
    intents = list(config.intents) or None
    answerable = counts[PLAIN] + counts[FAULT]
    tasks = _tasks(domain, RL_SEEDS + seed, answerable, intents, lambda task: task.answerable)
    failing = [task for task in tasks if task.operations][: counts[FAULT]]
    others = [task for task in tasks if task not in failing]
    declined = _tasks(domain, RL_SEEDS + seed + 1, counts[UNSOLVABLE], None, lambda task: not task.answerable)
    kinds = [FAULT] * len(failing) + [PLAIN] * len(others) + [UNSOLVABLE] * len(declined)
    always = augment.model_copy(update={"original_share": 0.0})
    states = _states(harness, always, config.augmented_share, len(kinds), seed)
    episodes = [
        Episode(state, task, domain)
        for state, task in zip(states, [*failing, *others, *declined], strict=True)
    ]
    faults = [
        FaultSchedule(state.seed, kinds=ALL_FAULTS) if kind == FAULT else None
        for kind, state in zip(kinds, states, strict=True)
    ]
    singles = [
        Unit(kind, (group,)) for kind, group in zip(kinds, with_gold(episodes, faults, domain), strict=True)
    ]
    # Only now: the gates score as well, and what a score raises is told by `with_gold`.
    require_proven(states, harness, domain, always)
    return [*singles, *_twins(harness, domain, counts[TWIN], seed)]


def unit_counts(total: int, config: RLConfig) -> dict[str, int]:
    """How many units of each kind make ``total`` groups; a twin pair is two groups."""
    twins = round(total * config.twin_share / 2)
    unsolvable = min(round(total * config.unsolvable_share), total - 2 * twins)
    failing = min(round(total * config.fault_share), total - 2 * twins - unsolvable)
    plain = total - 2 * twins - unsolvable - failing
    return {PLAIN: plain, FAULT: failing, UNSOLVABLE: unsolvable, TWIN: twins}


def compose(units: Sequence[Unit], config: RLConfig, seed: int) -> list[Group]:
    """The groups of all steps in their order, both members of a pair in one step.

    Of a kind with fewer units than it has places, as after screening, units come again; places of a kind without any
    go to plain tasks, and to tasks with failing tools where there are none.

    Raises:
        BadInput: there are no units that stand alone.
    """
    rounds, size = config.own_rounds, config.groups_per_step
    counts = unit_counts(rounds * size, config)
    chance = random.Random(f"compose/{seed}")
    pools = {kind: [unit for unit in units if unit.kind == kind] for kind in counts}
    steps: list[list[Group]] = [[] for _ in range(rounds)]
    places = [step for _ in range(size // 2) for step in chance.sample(steps, rounds)]
    pairs = islice(cycle(pools[TWIN]), counts[TWIN]) if pools[TWIN] else iter(())
    for unit, step in zip(pairs, places, strict=False):
        step.extend(unit.groups)
    free = rounds * size - sum(map(len, steps))
    alone: list[Unit] = []
    for kind in (UNSOLVABLE, FAULT):
        if pools[kind]:
            alone += islice(cycle(pools[kind]), min(counts[kind], free - len(alone)))
    rest = pools[PLAIN] or pools[FAULT] or pools[UNSOLVABLE]
    if not rest and len(alone) < free:
        raise BadInput(
            "no task is left to learn from: each was solved always or never when it was tried",
            where="rl.screen_tasks",
            mend="Stop SFT earlier (sft.stop_accuracy), name harder tasks (rl.intents) or try more of them.",
        )
    alone += islice(cycle(rest), free - len(alone)) if rest else []
    chance.shuffle(alone)
    following = iter(alone)
    for step in steps:
        while len(step) < size:
            step.extend(next(following).groups)
    return [group for step in steps for group in step]


def _tasks(
    domain: Domain, seed: int, count: int, intents: list[str] | None, wanted: Callable[[Task], bool]
) -> list[Task]:
    found: list[Task] = []
    for lot in _LOTS if count else ():
        found = [task for task in domain.sample_tasks("train", lot * count, seed, intents) if wanted(task)]
        if len(found) >= count:
            break
    if len(found) < count:
        raise BadInput(
            f"only {len(found)} tasks of {count} can be made",
            where="reinforcement learning",
            mend="Lower rl.unsolvable_share, or name other rl.intents.",
        )
    return found[:count]


def _states(
    harness: Harness, always: AugmentConfig, share: float, count: int, seed: int
) -> list[HarnessState]:
    """That share of them augmented, in shuffled order."""
    changed = round(count * share)
    order = [True] * changed + [False] * (count - changed)
    random.Random(f"{harness.digest}/{seed}/mixture").shuffle(order)
    return [
        sample_state(harness, seed=RL_SEEDS + seed * count + number, split="train", config=always)
        if augmented
        else HarnessState.original(harness)
        for number, augmented in enumerate(order)
    ]


def _twins(harness: Harness, domain: Domain, count: int, seed: int) -> Iterator[Unit]:
    if not count:
        return
    original = HarnessState.original(harness)
    pairs = make_twins(original, domain, split="train", count=count, seed=RL_SEEDS + seed).pairs
    members = [member for pair in pairs for _, member in pair.members]
    episodes = [Episode(member.state, member.task, domain) for member in members]
    groups = with_gold(episodes, [None] * len(episodes), domain)
    for plain, twin in zip(groups[::2], groups[1::2], strict=True):
        yield Unit(TWIN, (plain, twin))
