"""Proof that scheduled faults are recoverable: the domain's expert ends where it ends without them."""

from collections import Counter
from collections.abc import Iterator, Sequence

from hat.agent.episode import Episode
from hat.agent.faults import FaultSchedule, with_faults
from hat.agent.policy import Executor
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task
from hat.trajectories.record import Trajectory


def check_recovery(
    state: HarnessState, tasks: Sequence[Task], domain: Domain, schedule: FaultSchedule
) -> Iterator[str]:
    """What differs between the expert's episodes with and without the faults, one sentence each; nothing, normally.

    Compared are the end, the reply, all scores, and what was called in the end with true results.
    """
    for task in tasks:
        plain = _played(state, task, domain, domain.execute)
        faulty = _played(state, task, domain, with_faults(domain.execute, {task.id: schedule}))
        if (plain.end, plain.reply) != (faulty.end, faulty.reply):
            yield f"{task.id}: the reply was {plain.reply!r}, with faults it is {faulty.reply!r} ({faulty.end})"
        elif plain.scores != faulty.scores:
            yield f"{task.id}: scored {plain.scores}, with faults {faulty.scores}"
        elif _true_results(plain) != _true_results(faulty):
            yield f"{task.id}: other results than without faults"


def _played(state: HarnessState, task: Task, domain: Domain, execute: Executor) -> Trajectory:
    episode = Episode(state, task, domain)
    domain.expert().play([episode], execute, lambda index: None)
    trajectory = episode.trajectory()
    return trajectory.with_scores(domain.score(task, trajectory, state.canonical))


def _true_results(trajectory: Trajectory) -> Counter[str]:
    """Every call that got its true result, or the domain's own error, with what it got."""
    return Counter(
        repr((call, observation))
        for turn in trajectory.turns
        for call, observation in zip(turn.calls, turn.observations, strict=True)
        if observation.kind == "skill" or (observation.kind == "result" and not observation.code)
    )
