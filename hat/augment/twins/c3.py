"""C3: the needed tool, or the permission to use it, is gone, so declining is right."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from hat.augment.state import HarnessState
from hat.augment.twins.base import Gold, Skipped, TwinRule
from hat.augment.twins.edit import changed, with_rule, without_tool, wording
from hat.augment.twins.splits import of_split
from hat.domains.base import Domain, Fact, Split, Task
from hat.errors import BadInput
from hat.harness.model import Hook

KIND = "C3"
FORBIDDEN_CHECK = "tool_forbidden"
"""The general check that blocks every call it is asked about."""


def twin_rules(state: HarnessState, domain: Domain, split: Split) -> Iterator[TwinRule | Skipped]:
    """Two rules for each tool that belongs to the split: without the tool, and without the permission."""
    harness = state.canonical
    for number, operation in enumerate(of_split(tuple(domain.operations), split, salt=KIND)):
        try:
            tool = harness.tool_for(operation)
        except BadInput as error:
            yield Skipped(KIND, operation, error.what)
            continue
        told = with_rule(harness, wording("absent", "plain", split, number, harness, tool))
        yield TwinRule(
            KIND,
            f"absent:{operation}",
            changed(state, told, KIND),
            changed(state, without_tool(told, tool), KIND),
            (),
            _declared(operation),
        )
        yield TwinRule(
            KIND,
            f"forbidden:{operation}",
            _permission(state, tool, "plain", split, number),
            _permission(state, tool, "twin", split, number),
            (),
            _declared(operation),
        )


def _permission(state: HarnessState, tool: str, member: str, split: Split, number: int) -> HarnessState:
    """The state whose prompt allows or forbids a tool; where it forbids, a hook holds it."""
    harness = with_rule(state.canonical, wording("forbidden", member, split, number, state.canonical, tool))
    if member == "twin":
        message = wording("forbidden_message", member, split, number, state.canonical, tool)
        hook = Hook("PreToolUse", tool, FORBIDDEN_CHECK, message)
        harness = replace(harness, hooks=(hook, *harness.hooks))
    return changed(state, harness, KIND)


def _declared(operation: str) -> Callable[[Task], tuple[Gold, Gold] | None]:
    def gold(task: Task) -> tuple[Gold, Gold] | None:
        # Where another tool is called before, whether calls were needed at all would be open.
        if not task.answerable or not task.operations or task.operations[0][0] != operation:
            return None
        return Gold(task.facts, task.operations), Gold((Fact("decline", ""),), ())

    return gold
