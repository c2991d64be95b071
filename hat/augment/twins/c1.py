"""C1: two tools swap names. Who calls by memory calls the wrong one; descriptions and rules tell which is which."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from hat.augment.state import HarnessState
from hat.augment.twins.base import Gold, Skipped, TwinRule
from hat.augment.twins.splits import of_split, pairs_of
from hat.domains.base import Domain, Split, Task
from hat.errors import BadInput

KIND = "C1"


def twin_rules(state: HarnessState, domain: Domain, split: Split) -> Iterator[TwinRule | Skipped]:
    """One rule for each pair of tools that belongs to the split."""
    pairs = {"+".join(pair): pair for pair in pairs_of(tuple(domain.operations))}
    for name in of_split(tuple(pairs), split, salt=KIND):
        operations = pairs[name]
        try:
            tools = tuple(state.canonical.tool_for(operation) for operation in operations)
        except BadInput as error:
            yield Skipped(KIND, name, error.what)
            continue
        plain = replace(state, families=(*state.families, KIND))
        yield TwinRule(KIND, name, plain, _swapped(plain, tools[0], tools[1]), (), _declared(operations))


def _swapped(state: HarnessState, one: str, other: str) -> HarnessState:
    codec = state.codec
    tools = {**codec.tools, one: codec.tool(other), other: codec.tool(one)}
    return replace(state, codec=replace(codec, tools=tools))


def _declared(operations: tuple[str, ...]) -> Callable[[Task], tuple[Gold, Gold] | None]:
    def gold(task: Task) -> tuple[Gold, Gold] | None:
        if not task.answerable or all(operation not in operations for operation, _ in task.operations):
            return None
        # The same in the domain's terms: what differs is the name that the call goes by.
        same = Gold(task.facts, task.operations)
        return same, same

    return gold
