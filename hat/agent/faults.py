"""Simulated faults of tools (family K5), scheduled so that every rollout of a group meets the same ones."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hat.agent.fault_kinds import ALL_FAULTS, FAULTS, REPORTED_FAULTS, broken_outcome
from hat.agent.policy import Executor
from hat.domains.base import Task, ToolOutcome
from hat.errors import BadInput
from hat.files import canonical_json

__all__ = ["ALL_FAULTS", "FAULTS", "REPORTED_FAULTS", "FaultSchedule", "with_faults"]


@dataclass(frozen=True)
class FaultSchedule:
    """Which calls fail: a function of (seed, operation, arguments, attempt), the same for a whole group.

    Raises:
        BadInput: an unknown kind, or none.
    """

    seed: int
    """The seed of the harness state, in training; any in evaluation."""
    share: float = 1.0
    """Share of operations whose first attempts fail."""
    attempts: int = 1
    """How many attempts of such an operation fail before it works."""
    kinds: tuple[str, ...] = REPORTED_FAULTS
    """The kinds of faults that may be drawn."""

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in ALL_FAULTS]
        if unknown or not self.kinds:
            problem = f"unknown kind of fault {unknown[0]!r}" if unknown else "no kind of fault is given"
            raise BadInput(problem, where="faults", mend=f"Known: {', '.join(ALL_FAULTS)}.")

    def kind(self, operation: str, arguments: Mapping[str, Any], attempt: int) -> str | None:
        """The kind of fault scheduled for this attempt, counted from 0; None when the call goes through."""
        drawn = self._draw(operation, arguments)
        return drawn[0] if drawn and attempt < self.attempts else None

    def outcome(
        self, task: Task, operation: str, arguments: Mapping[str, Any], attempt: int, execute: Executor
    ) -> ToolOutcome:
        """What the call gives: the scheduled fault, or the true outcome."""
        drawn = self._draw(operation, arguments)
        if drawn is None or attempt >= self.attempts:
            return execute(task, operation, arguments, attempt)
        kind, draw = drawn
        return broken_outcome(kind, lambda: execute(task, operation, arguments, attempt), draw)

    def _draw(self, operation: str, arguments: Mapping[str, Any]) -> tuple[str, random.Random] | None:
        """The kind for this operation, and where further choices come from; None where it never fails."""
        draw = random.Random(canonical_json([self.seed, operation, dict(arguments)]))
        if draw.random() >= self.share:
            return None
        return draw.choice(self.kinds), draw


def with_faults(execute: Executor, schedules: Mapping[str, FaultSchedule]) -> Executor:
    """An executor under which the operations of some tasks, by task id, fail as scheduled."""

    def execute_or_fail(
        task: Task, operation: str, arguments: Mapping[str, Any], attempt: int
    ) -> ToolOutcome:
        schedule = schedules.get(task.id)
        if schedule is None:
            return execute(task, operation, arguments, attempt)
        return schedule.outcome(task, operation, arguments, attempt, execute)

    return execute_or_fail
