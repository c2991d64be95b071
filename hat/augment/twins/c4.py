"""C4: a required order is reversed: the skill before a tool, or the tool before the skill."""

from collections.abc import Callable, Iterator

from hat.augment.state import HarnessState
from hat.augment.twins.base import Gold, Skipped, TwinRule
from hat.augment.twins.edit import changed, with_rule, wording
from hat.augment.twins.splits import of_split
from hat.domains.base import Domain, Split, Task
from hat.errors import BadInput
from hat.harness.model import LOAD_SKILL

KIND = "C4"


def twin_rules(state: HarnessState, domain: Domain, split: Split) -> Iterator[TwinRule | Skipped]:
    """One rule for each tool that belongs to the split."""
    harness = state.canonical
    for number, operation in enumerate(of_split(tuple(domain.operations), split, salt=KIND)):
        try:
            tool = harness.tool_for(operation)
        except BadInput as error:
            yield Skipped(KIND, operation, error.what)
            continue
        plain, twin = (
            changed(state, with_rule(harness, wording("order", member, split, number, harness, tool)), KIND)
            for member in ("plain", "twin")
        )
        yield TwinRule(KIND, operation, plain, twin, (), _declared(operation))


def _declared(operation: str) -> Callable[[Task], tuple[Gold, Gold] | None]:
    def gold(task: Task) -> tuple[Gold, Gold] | None:
        # Where the tool is called twice at once a strategy skill comes first, which is another order.
        needed = [name for name, _ in task.operations]
        if not task.answerable or needed[:1] != [operation] or needed.count(operation) > 1:
            return None
        return (
            Gold(task.facts, task.operations, (LOAD_SKILL, operation)),
            Gold(task.facts, task.operations, (operation, LOAD_SKILL)),
        )

    return gold
