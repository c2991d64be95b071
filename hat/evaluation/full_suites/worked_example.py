"""A model that gets one worked episode in each prompt: fairer to a base model, which has never seen the call format."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from hat.agent.episode import Episode
from hat.agent.policies.local import LocalPolicy, Rollout
from hat.agent.policy import Executor
from hat.augment.state import HarnessState
from hat.domains.base import Domain
from hat.errors import BadInput
from hat.evaluation.full_suites.evolution import with_gold_of
from hat.trajectories.present import Message

_SEED = 7_000
_CANDIDATES = 26


class WithWorkedExample:
    """The model as a policy; before each question stands an episode that the domain's expert played.

    It is played under the same harness state and in the same session, with a question of the training split, so it
    shows the format and the names and no answer.
    """

    def __init__(self, policy: LocalPolicy, domain: Domain) -> None:
        self._policy = policy
        self._domain = domain
        self.name = f"{policy.name} with one worked example"
        self._examples: dict[tuple[Any, ...], list[Message]] = {}

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end."""
        self.roll_out(episodes, execute, on_done)

    def roll_out(
        self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]
    ) -> list[Rollout]:
        """Drive every episode to its end; see `hat.agent.policies.local.LocalPolicy.roll_out`."""
        shown = [_Shown(episode, self._example(episode)) for episode in episodes]
        return self._policy.roll_out(cast(Sequence[Episode], shown), execute, on_done)

    def _example(self, episode: Episode) -> list[Message]:
        session = episode.task.session
        key = (episode.state.digest, *sorted(session.items()))
        if key not in self._examples:
            self._examples[key] = worked_example(episode.state, session, self._domain)
        return self._examples[key]


def worked_example(state: HarnessState, session: Mapping[str, str | int], domain: Domain) -> list[Message]:
    """The messages, without the system prompt, of an episode in which the expert calls a tool and is right.

    Raises:
        BadInput: the expert solves no question with a tool under this state.
    """
    for task in domain.sample_tasks("train", _CANDIDATES, _SEED, session=session):
        own = with_gold_of(state.canonical, task, domain)
        episode = Episode(state, own, domain)
        domain.expert().play([episode], domain.execute, lambda index: None)
        scores = domain.score(own, episode.trajectory(), state.canonical)
        if own.answerable and own.operations and scores.accuracy == scores.skill_selection == 1:
            return episode.messages()[1:]
    raise BadInput(
        "the expert solves no question with a tool, so there is no example to show",
        where=f"{state.canonical.name}@{state.canonical.version}",
    )


class _Shown:
    """An episode as the model sees it: the example stands between the system prompt and the question."""

    def __init__(self, episode: Episode, example: Sequence[Message]) -> None:
        self._episode = episode
        self._example = example

    def messages(self) -> list[Message]:
        system, *rest = self._episode.messages()
        return [system, *self._example, *rest]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._episode, name)
