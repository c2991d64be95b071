"""The planned harness states of a training run, each proven by the gates before anything is trained on it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hat.agent.episode import Episode
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state, skipped_reasons
from hat.augment.state import HarnessState
from hat.augment.verify import GATES, GateFailure, Gold, verify_state
from hat.augment.wordings.prove import check_wordings
from hat.domains.base import Domain, Split, Task
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.trajectories.selection import rejection_reason

GOLD_TASKS = 26
"""Tasks that gold is made of: two of each of the live shop's intents, of which every state replays one."""


@dataclass(frozen=True)
class PlannedState:
    """A state by what it takes to sample it again, and the digest that proves it is the same one."""

    seed: int
    split: str
    families: tuple[str, ...]
    digest: str
    task: str = ""
    """Digest of the task that it was sampled for; empty: for none in particular."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Family and reason, for each that found something it does not support."""

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "split": self.split,
            "families": list(self.families),
            "digest": self.digest,
            "task": self.task,
        }

    @classmethod
    def of(cls, state: "HarnessState | PlannedState") -> "PlannedState":
        return cls(state.seed, state.split, state.families, state.digest, state.task, state.skipped)


def first_seed(run_seed: int) -> int:
    """Runs with different seeds draw different states."""
    return run_seed * 1_000_000


def sample_states(
    harness: Harness,
    *,
    count: int,
    run_seed: int,
    split: str,
    config: AugmentConfig,
    tasks: Sequence[Task] = (),
) -> list[HarnessState]:
    """``count`` states, each for one of ``tasks`` in turn where there are any; a pure function of its arguments."""
    drawn = draw_states(harness, count=count, run_seed=run_seed, split=split, config=config, tasks=tasks)
    return list(drawn)


def draw_states(
    harness: Harness,
    *,
    count: int,
    run_seed: int,
    split: str,
    config: AugmentConfig,
    tasks: Sequence[Task] = (),
) -> Iterator[HarnessState]:
    """The same, one after the other, so that however many are drawn, one is held."""
    start = first_seed(run_seed)
    for number in range(count):
        yield sample_state(
            harness,
            seed=start + number,
            split=split,
            config=config,
            task=tasks[number % len(tasks)] if tasks else None,
        )


def expert_gold(harness: Harness, domain: Domain, split: Split, count: int = GOLD_TASKS) -> Gold:
    """Trajectories of the domain's expert under the unchanged harness, all of them right.

    Raises:
        BadInput: the expert fails a task under this harness, so no state of it can be proven.
    """
    state = HarnessState.original(harness)
    tasks = domain.sample_tasks(split, count, seed=9_000_000)
    episodes = [Episode(state, task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    trajectories = []
    for episode in episodes:
        played = episode.trajectory("expert")
        trajectory = played.with_scores(domain.score(played.task, played, harness))
        trajectories.append(trajectory)
        if rejection_reason(trajectory) is not None:
            raise BadInput(
                f"the expert cannot solve {trajectory.task.question!r} under this harness: {trajectory.reply!r}",
                where=f"{harness.name}@{harness.version}",
                mend="Check the harness's bindings, intents and rules with `hat harness lint`.",
            )
    return Gold(trajectories, domain, domain.execute)


@dataclass(frozen=True)
class Proof:
    """The states that were proven, each by its seed and digest, and what failed."""

    planned: tuple[PlannedState, ...]
    failures: tuple[GateFailure, ...]

    def report(self) -> dict[str, Any]:
        """The document of ``hat augment verify --json``."""
        return verification_report(self.planned, self.failures, GATES)

    def require(self, harness: Harness) -> None:
        """Raise `BadInput`, naming the first failure, where there is any: nothing may be trained on such states."""
        if self.failures:
            first = self.failures[0]
            raise BadInput(
                f"gate {first.gate} fails on state {first.seed} in {first.transform}, {first.symbol}: {first.message}",
                where=f"{harness.name}@{harness.version}",
                mend=f"{len(self.failures)} failures in all; "
                "leave the family out of augment.families or mend the harness.",
            )


def prove_states(
    states: Iterable[HarnessState],
    harness: Harness,
    config: AugmentConfig,
    gold: Gold,
    on_state: Callable[[int], None] = lambda index: None,
) -> Proof:
    """All gates of all states, of which one is held at a time; ``on_state`` is called after each.

    Every state replays one gold trajectory of each intent; which one goes round with the seed.

    Raises:
        BadInput: the settings bring wordings of which one may not stand in this harness.
    """
    if config.wordings is not None:
        check_wordings(config.wordings, harness, gold)
    planned, failures = [], []
    for index, state in enumerate(states):
        failures += verify_state(state, harness, config, gold.for_state(state))
        planned.append(PlannedState.of(state))
        on_state(index)
    return Proof(tuple(planned), tuple(failures))


def require_proven(
    states: Iterable[HarnessState], harness: Harness, domain: Domain, config: AugmentConfig
) -> None:
    """Prove the states that a stage of training draws beside the planned ones; those of no family are the harness.

    Args:
        config: what they were sampled with.

    Raises:
        BadInput: a gate fails on a state, which is named.
    """
    changed = (state for state in states if state.families)
    prove_states(changed, harness, config, expert_gold(harness, domain, "train")).require(harness)


def verification_report(
    states: Sequence[HarnessState | PlannedState], failures: Sequence[GateFailure], gates: Sequence[str]
) -> dict[str, Any]:
    """The document of ``hat augment verify --json``."""
    failed_states = {failure.seed for failure in failures}
    families: dict[str, int] = {}
    for state in states:
        for family in state.families:
            families[family] = families.get(family, 0) + 1
    per_gate = {}
    for gate in gates:
        broken = {failure.seed for failure in failures if failure.gate == gate}
        per_gate[gate] = {"passed": len(states) - len(broken), "failed": len(broken)}
    return {
        "schema_version": 1,
        "states": len(states),
        "passed": len(states) - len(failed_states),
        "failed": len(failed_states),
        "gates": per_gate,
        "families": dict(sorted(families.items())),
        "skipped": [
            {"family": family, "reason": reason, "states": count}
            for family, reason, count in skipped_reasons(states)
        ],
        "failures": [failure.to_json() for failure in failures],
    }
