"""The planned harness states of a training run, each proven by the gates before anything is trained on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hat.agent.episode import Episode
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state, skipped_reasons
from hat.augment.state import HarnessState
from hat.augment.verify import GateFailure, Gold, verify_state
from hat.domains.base import Domain, Split, Task
from hat.errors import BadInput
from hat.harness.model import Harness

GOLD_TASKS = 26
"""Tasks replayed under every state: two of each of the live shop's intents."""


@dataclass(frozen=True)
class PlannedState:
    """A state by what it takes to sample it again, and the digest that proves it is the same one."""

    seed: int
    split: str
    families: tuple[str, ...]
    digest: str
    task: str = ""
    """Digest of the task that it was sampled for; empty: for none in particular."""

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "split": self.split,
            "families": list(self.families),
            "digest": self.digest,
            "task": self.task,
        }

    @classmethod
    def of(cls, state: HarnessState) -> "PlannedState":
        return cls(state.seed, state.split, state.families, state.digest, state.task)


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
    start = first_seed(run_seed)
    return [
        sample_state(
            harness,
            seed=start + i,
            split=split,
            config=config,
            task=tasks[i % len(tasks)] if tasks else None,
        )
        for i in range(count)
    ]


def expert_gold(harness: Harness, domain: Domain, split: Split, count: int = GOLD_TASKS) -> Gold:
    """Trajectories of the domain's expert under the unchanged harness, all of them right.

    Raises:
        BadInput: the expert fails a task under this harness, so no state of it can be proven.
    """
    state = HarnessState.original(harness)
    tasks = domain.sample_tasks(split, count, seed=9_000_000)
    episodes = [Episode(state, task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    trajectories = [episode.trajectory("expert") for episode in episodes]
    for trajectory in trajectories:
        if domain.score(trajectory.task, trajectory, harness).accuracy != 1:
            raise BadInput(
                f"the expert cannot solve {trajectory.task.question!r} under this harness: {trajectory.reply!r}",
                where=f"{harness.name}@{harness.version}",
                mend="Check the harness's bindings, intents and rules with `hat harness lint`.",
            )
    return Gold(trajectories, domain, domain.execute)


def verify_states(
    states: Sequence[HarnessState],
    harness: Harness,
    config: AugmentConfig,
    gold: Gold,
    on_state: Callable[[int], None] = lambda index: None,
) -> list[GateFailure]:
    """All gate failures of all states; ``on_state`` is called after each."""
    failures = []
    for index, state in enumerate(states):
        failures.extend(verify_state(state, harness, config, gold))
        on_state(index)
    return failures


def verification_report(
    states: Sequence[HarnessState], failures: Sequence[GateFailure], gates: Sequence[str]
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
        "failures": [
            {"gate": f.gate, "seed": f.seed, "families": list(f.families), "message": f.message}
            for f in failures
        ],
    }
