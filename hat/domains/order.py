"""An order in which a harness requires two operations, as part of a task's gold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hat.errors import BadInput

if TYPE_CHECKING:
    from hat.harness.model import Harness
    from hat.trajectories.record import Trajectory

REQUIRED_ORDER = "order"
"""The slot of a task that names two operations in the order in which they must first be called."""

_REFUSED = ("blocked", "unknown_name")


def order_kept(order: Sequence[str], trajectory: Trajectory, harness: Harness) -> bool:
    """Whether both operations took effect, and the first call of the one came before the first of the other.

    Args:
        order: two operations of the domain, or `hat.harness.model.LOAD_SKILL`.
        harness: the canonical harness of the episode.
    """
    called = _operations(trajectory, harness)
    first, second = order
    return first in called and second in called and called.index(first) < called.index(second)


def _operations(trajectory: Trajectory, harness: Harness) -> list[str]:
    """The operations that took effect, in order."""
    found = []
    for turn in trajectory.turns:
        for call, observation in zip(turn.calls, turn.observations, strict=True):
            if observation.kind in _REFUSED:
                continue
            try:
                found.append(harness.binding(call.name).operation)
            except BadInput:
                continue
    return found
