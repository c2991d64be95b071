"""A policy that ignores the harness: the expert, which has one harness by heart and never looks at another.

It understands questions and results as the expert does, so what it fails is what only reading the harness gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hat.agent.episode import Episode
from hat.agent.policy import Executor
from hat.augment.state import HarnessState
from hat.domains.live_shop import replies
from hat.domains.live_shop.expert import ExpertView, Plan, play_plan, solve
from hat.harness.model import Harness


class HarnessBlindExpert:
    """Plays by one harness, whatever the episode presents."""

    name = "harness-blind-expert"

    def __init__(self, harness: Harness) -> None:
        self._known = HarnessState.original(harness)

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end, one after the other."""
        for index, episode in enumerate(episodes):
            view = ExpertView(episode.task.question, episode.task.session, self._known.canonical)
            play_plan(episode, _unsurprised(solve(view)), execute, self._known)
            on_done(index)


def _unsurprised(plan: Plan) -> Plan:
    """The plan; where a result does not have what it needs, declining."""
    action = next(plan)
    try:
        while True:
            action = plan.send((yield action))
    except (KeyError, TypeError, ValueError):
        while True:
            yield replies.DECLINE
