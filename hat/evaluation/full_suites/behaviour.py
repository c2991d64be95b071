"""How an episode was played, beside whether it was right: adherence turn by turn, and tokens spent."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from hat.agent.episode import Episode
from hat.agent.policies.local import Rollout
from hat.agent.policy import Executor, Policy
from hat.trajectories.record import Trajectory, Turn


@runtime_checkable
class WritesTokens(Protocol):
    """A policy that gives the token ids of the episodes it plays, such as `hat.agent.policies.local.LocalPolicy`."""

    def roll_out(
        self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]
    ) -> list[Rollout]: ...


class Recorded:
    """A policy that keeps the token ids of what it played, where it has any."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.name = policy.name
        self.rollouts: list[Rollout] = []
        """Of the last call of `play`, in its order; empty where the policy writes no tokens."""

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end."""
        if isinstance(self._policy, WritesTokens):
            self.rollouts = self._policy.roll_out(episodes, execute, on_done)
        else:
            self._policy.play(episodes, execute, on_done)


def behaviour(trajectory: Trajectory, rollout: Rollout | None) -> dict[str, Any]:
    """What an item's document says of the episode.

    ``adhered``: 1 or 0 a turn. ``tool_calls``: calls that could be read. ``call_tokens``: sampled tokens of the turns
    with such calls; ``reply_tokens``: of the accepted reply. Tokens are None where they were not counted, and
    ``reply_tokens`` also where no reply was accepted.
    """
    turns = trajectory.turns
    lengths = None if rollout is None else [end - begin for begin, end in rollout.turns]
    replied = trajectory.end == "replied"
    return {
        "adhered": [int(adheres(turn)) for turn in turns],
        "tool_calls": sum(len(turn.calls) for turn in turns),
        "call_tokens": None
        if lengths is None
        else sum(length for length, turn in zip(lengths, turns, strict=True) if turn.calls),
        "reply_tokens": lengths[-1] if lengths and replied else None,
    }


def adheres(turn: Turn) -> bool:
    """Whether a turn kept to the harness: it could be read, used known names, and no hook blocked any of it."""
    refused = any(observation.kind in ("blocked", "unknown_name") for observation in turn.observations)
    return turn.raw is None and turn.verdict is None and not refused
