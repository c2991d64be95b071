"""Simulated faults of tools: timeouts, refused permissions, garbled results; each passes when tried again."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hat.agent.policy import Executor
from hat.domains.base import Task, ToolOutcome
from hat.files import canonical_json

FAULTS: Mapping[str, str] = {
    "timeout": "The tool did not answer in time. Try again.",
    "permission_denied": "Permission was refused this time. Try again.",
    "malformed_result": "The tool's answer could not be read. Try again.",
}
"""Code and message of each kind; a domain's own error codes are others."""


@dataclass(frozen=True)
class FaultSchedule:
    """Which calls fail: a function of (seed, operation, arguments, attempt), the same for a whole group."""

    seed: int
    share: float = 1.0
    """Share of operations whose first attempts fail."""
    attempts: int = 1
    """How many attempts of such an operation fail before it works."""

    def fault(self, operation: str, arguments: Mapping[str, Any], attempt: int) -> ToolOutcome | None:
        """The fault scheduled for this attempt, counted from 0; None when the call goes through."""
        draw = random.Random(canonical_json([self.seed, operation, dict(arguments)]))
        if attempt >= self.attempts or draw.random() >= self.share:
            return None
        code = draw.choice(sorted(FAULTS))
        return ToolOutcome("error", FAULTS[code], code)


def with_faults(execute: Executor, schedules: Mapping[str, FaultSchedule]) -> Executor:
    """An executor under which the operations of some tasks, by task id, fail as scheduled."""

    def execute_or_fail(
        task: Task, operation: str, arguments: Mapping[str, Any], attempt: int
    ) -> ToolOutcome:
        schedule = schedules.get(task.id)
        fault = schedule.fault(operation, arguments, attempt) if schedule else None
        return fault or execute(task, operation, arguments, attempt)

    return execute_or_fail
