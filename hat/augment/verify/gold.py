"""The gold that gates replay, and the state under proof with what several gates look at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import Executor, answer_requests
from hat.augment.config import AugmentConfig
from hat.augment.regenerate import regenerate
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Scores, Task
from hat.harness.model import Harness
from hat.trajectories.record import Trajectory

Script = list[tuple[str, list[Call]]]
"""Per assistant turn: its text, and its calls as they are presented."""


@dataclass(frozen=True)
class Gold:
    """Accepted expert trajectories under the unchanged harness, to be replayed under every state."""

    trajectories: Sequence[Trajectory]
    domain: Domain
    execute: Executor

    def scores(self, trajectory: Trajectory, harness: Harness) -> Scores:
        """The trajectory's own scores where it has them, else those under ``harness``."""
        return trajectory.scores or self.domain.score(trajectory.task, trajectory, harness)

    def for_state(self, state: HarnessState) -> "Gold":
        """One trajectory of each intent that the state serves: of its own task, or going round with its seed."""
        by_intent: dict[str, list[Trajectory]] = {}
        for trajectory in self.trajectories:
            if state.serves(trajectory.task):
                by_intent.setdefault(trajectory.task.intent, []).append(trajectory)
        chosen = []
        for same in by_intent.values():
            own = next((one for one in same if one.task.digest == state.task), None)
            chosen.append(own or same[state.seed % len(same)])
        return Gold(chosen, self.domain, self.execute)

    def of_its_task(self, state: HarnessState) -> "Gold":
        """The gold of the state's own task only; of one that goes round with the seed where it has none."""
        own = [one for one in self.trajectories if one.task.digest == state.task]
        chosen = own or [self.trajectories[state.seed % len(self.trajectories)]]
        return Gold(chosen[:1], self.domain, self.execute)


@dataclass(frozen=True)
class Subject:
    """One state under proof."""

    state: HarnessState
    harness: Harness
    config: AugmentConfig
    gold: Gold
    again: Callable[[], HarnessState] | None = None

    @cached_property
    def trajectories(self) -> Sequence[Trajectory]:
        """The gold that the state serves; derived again by the expert where the state asks for other gold."""
        served = [one for one in self.gold.trajectories if self.state.serves(one.task)]
        if not self.state.regenerates:
            return served
        tasks = [trajectory.task for trajectory in served]
        return regenerate(self.state, tasks, self.gold.domain, self.gold.execute)

    @cached_property
    def scripts(self) -> list[Script]:
        """What the assistant says under this state, per gold trajectory."""
        return [present_script(trajectory, self.state) for trajectory in self.trajectories]

    @cached_property
    def replays(self) -> list[Episode | None]:
        """The gold said again under this state; None where an episode ended before the gold did."""
        return [
            play(script, self.state, trajectory.task, self.gold)
            for script, trajectory in zip(self.scripts, self.trajectories, strict=True)
        ]

    @cached_property
    def presented_schemas(self) -> Mapping[str, Mapping[str, object]]:
        """The input schema of each presented tool."""
        return {tool.name: tool.input_schema for tool in self.state.presented.tools}


def present_script(trajectory: Trajectory, state: HarnessState) -> Script:
    """The assistant's turns under a state; a turn that could not be read keeps its raw text."""
    return [
        (turn.content if turn.raw is None else turn.raw, [state.encode(call) for call in turn.calls])
        for turn in trajectory.turns
    ]


def play(script: Script, state: HarnessState, task: Task, gold: Gold) -> Episode | None:
    """The episode in which the assistant says exactly the script; None if it ends before the script does."""
    episode = Episode(state, task, gold.domain)
    for content, calls in script:
        if episode.done:
            return None
        text = content + "".join(render_call(call) for call in calls)
        answer_requests(episode, episode.submit(text), gold.execute)
    return episode
