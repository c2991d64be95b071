"""What drives an episode: a policy plays episodes to their end, an executor runs their domain operations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from hat.agent.episode import Episode, Request
from hat.domains.base import Task, ToolOutcome

Executor = Callable[[Task, str, Mapping[str, Any], int], ToolOutcome]
"""(task, operation, operation arguments, attempt counted from 0) -> outcome"""


class Policy(Protocol):
    """Plays episodes. ``on_done`` is called with an episode's index as soon as it has ended."""

    name: str

    def play(
        self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]
    ) -> None: ...


def answer_requests(episode: Episode, requests: Sequence[Request], execute: Executor) -> None:
    """Execute an episode's open requests and hand it the outcomes."""
    if requests:
        episode.observe([execute(episode.task, r.operation, r.arguments, r.attempt) for r in requests])
