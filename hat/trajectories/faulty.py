"""Training tasks whose tools fail at first: which ones, and how, follows from the seed alone."""

import random
from collections.abc import Sequence

from hat.agent.faults import ALL_FAULTS, FaultSchedule, with_faults
from hat.agent.policy import Executor
from hat.domains.base import Domain, Task


def faulty_executor(domain: Domain, tasks: Sequence[Task], share: float, seed: int) -> Executor:
    """The domain's executor, under which about ``share`` of the tasks meet faults of every kind."""
    schedules = {
        task.id: FaultSchedule(seed, kinds=ALL_FAULTS)
        for task in tasks
        if random.Random(f"faults/{seed}/{task.id}").random() < share
    }
    return with_faults(domain.execute, schedules)
