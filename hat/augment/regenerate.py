"""Gold derived again under a harness state, for transforms that change what a right episode is."""

from collections.abc import Sequence

from hat.agent.episode import Episode
from hat.agent.policy import Executor
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task
from hat.trajectories.record import Trajectory


def regenerate(
    state: HarnessState, tasks: Sequence[Task], domain: Domain, execute: Executor
) -> list[Trajectory]:
    """The domain's expert on each task under the state; whether it is right is for the scorer to say."""
    episodes = [Episode(state, task, domain) for task in tasks]
    domain.expert().play(episodes, execute, lambda index: None)
    return [episode.trajectory("expert") for episode in episodes]
