"""The items of the suites that play episodes, and the tasks they are drawn from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hat.agent.faults import FaultSchedule
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.harness.model import Harness

SEED_STRIDE = 100_000
"""Distance between the seeds of two evaluations, so that no two draw the same task ids."""
LARGEST_SEARCH = 4_000
"""Draws of tasks or states after which a suite is given up as impossible."""


@dataclass(frozen=True)
class SuiteItem:
    """One episode to play."""

    suite: str
    task: Task
    state: HarnessState
    kind: str = ""
    """What makes it hard, in the robustness suite."""
    faults: FaultSchedule | None = None
    pair: str = ""
    """The twin pair that it is a member of."""

    @property
    def id(self) -> str:
        """Unique in the suite, and the same for every model."""
        return f"{self.task.id}/{self.kind or self.state.digest[:8]}"


def draw_tasks(
    domain: Domain, config: EvaluateConfig, seed: int, wanted: Callable[[Task], bool]
) -> Iterator[Task]:
    """Tasks of one kind, drawn in growing lots until the domain has no more."""
    seen: set[str] = set()
    lots: Sequence[int] = (200, 1000, LARGEST_SEARCH)
    for lot in lots:
        try:
            tasks = domain.sample_tasks(config.split, lot, seed)
        except BadInput:
            return
        for task in tasks:
            if wanted(task) and task.digest not in seen:
                seen.add(task.digest)
                yield task


def impossible(suite: str, made: str, harness: Harness) -> BadInput:
    """What to raise when only ``made`` can be made."""
    return BadInput(
        f"only {made} can be made for {suite}",
        where=f"{harness.name}@{harness.version}",
        mend="Ask for fewer items in the `evaluate` settings.",
    )
