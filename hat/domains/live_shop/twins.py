"""The live room's part in twins: gold re-derived from a harness, business rules that flip, a harness-blind policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hat.augment.twins.base import Gold, RuleFlip
from hat.augment.twins.edit import with_body
from hat.augment.twins.reading import forbidden_tools, tools_after_skill, tools_before_skill
from hat.domains.base import Fact, Split, Task
from hat.domains.live_shop.catalogue import FINAL_SALE, Catalogue
from hat.domains.live_shop.gold import return_facts
from hat.domains.live_shop.return_rules import read_return_rules, stated_return_rules, write_return_rules
from hat.domains.live_shop.vocabulary import CATEGORIES
from hat.domains.live_shop.withholding import SUBJECTS, disclosure_rules, withheld
from hat.domains.order import REQUIRED_ORDER
from hat.errors import BadInput
from hat.harness.model import LOAD_SKILL, Harness

if TYPE_CHECKING:
    from hat.agent.policy import Policy

DECLINE = (Fact("decline", ""),)
FLIPPED_DAYS = 3
"""Days to return of a class that could not be returned before its rule flipped."""

Declared = Callable[[Task], tuple[Gold, Gold] | None]


class LiveShopTwins:
    """See `hat.augment.twins.base.TwinDomain`."""

    rules = (
        *(f"returns:{name}" for name in (*CATEGORIES, FINAL_SALE)),
        *(f"told:{intent}" for intent in SUBJECTS),
    )

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def rederive(self, task: Task, harness: Harness) -> Task:
        """The task with the gold that this harness asks for; the same task under a harness without such rules."""
        if not task.answerable or not task.operations:
            return task
        if not _can_answer(task, harness):
            return replace(task, facts=DECLINE, operations=(), answerable=False)
        slots = {key: value for key, value in task.slots.items() if key != REQUIRED_ORDER}
        if order := _required_order(task, harness):
            slots[REQUIRED_ORDER] = order
        facts = task.facts
        if task.intent == "returns":
            product = self._catalogue.products[task.slots["link"]]
            rules = stated_return_rules(harness)
            if product.return_class not in rules:
                return replace(task, facts=DECLINE, answerable=False, slots=slots)
            facts = return_facts(product.subject, rules[product.return_class])
        return replace(task, facts=facts, slots=slots)

    def flip(self, harness: Harness, name: str, split: Split) -> RuleFlip | str:
        """A return rule, or whether something may be told, and its opposite."""
        group, _, subject = name.partition(":")
        intent = subject if group == "told" else "returns"
        try:
            skill = harness.skill_for(intent)
        except BadInput as error:
            return error.what
        if group == "told":
            return _flip_disclosure(harness, name, skill, intent, split)
        return self._flip_return(harness, name, skill, subject)

    def blind(self, harness: Harness) -> Policy:
        """The expert under the harness it has learnt by heart, whatever the one it is given says."""
        from hat.domains.live_shop.blind import HarnessBlindExpert

        return HarnessBlindExpert(harness)

    def _flip_return(self, harness: Harness, name: str, skill: str, subject: str) -> RuleFlip | str:
        items = harness.skill(skill).body.items
        rules = read_return_rules(items)
        if subject not in rules:
            return f"skill {skill!r} states no return rule for {subject}"
        flipped = {**rules, subject: FLIPPED_DAYS if rules[subject] is None else None}
        texts = [write_return_rules(items, chosen) for chosen in (rules, flipped)]
        if [read_return_rules(text) for text in texts] != [rules, flipped]:
            return f"the return rules of skill {skill!r} cannot be written anew"

        def declared(task: Task) -> tuple[Gold, Gold] | None:
            product = self._catalogue.product(int(task.slots.get("link", 0)))
            if task.intent != "returns" or product is None or product.return_class != subject:
                return None
            plain, twin = (return_facts(product.subject, chosen[subject]) for chosen in (rules, flipped))
            return Gold(plain, task.operations), Gold(twin, task.operations)

        plain, twin = (with_body(harness, skill, text) for text in texts)
        return RuleFlip(name, plain, twin, ("returns",), declared)


def _flip_disclosure(harness: Harness, name: str, skill: str, intent: str, split: Split) -> RuleFlip | str:
    items = harness.skill(skill).body.items
    if withheld(items):
        return f"skill {skill!r} has such a rule already"

    def declared(task: Task) -> tuple[Gold, Gold] | None:
        return (Gold(task.facts, task.operations), Gold(DECLINE, ())) if task.intent == intent else None

    plain, twin = (with_body(harness, skill, (*items, text)) for text in disclosure_rules(intent, split))
    return RuleFlip(name, plain, twin, (intent,), declared)


def _can_answer(task: Task, harness: Harness) -> bool:
    """Whether tools, permissions and the skill of the question let it be answered."""
    try:
        tools = {harness.tool_for(operation) for operation, _ in task.operations}
        skill = harness.skill(harness.skill_for(task.intent))
    except BadInput:
        return False
    return not tools & forbidden_tools(harness) and not withheld(skill.body.items)


def _required_order(task: Task, harness: Harness) -> list[str]:
    """The order of the task's first tool and its skill; empty where no rule names that tool."""
    needed = [operation for operation, _ in task.operations]
    if needed.count(needed[0]) > 1:
        return []
    tool = harness.tool_for(needed[0])
    if tool in tools_before_skill(harness):
        return [needed[0], LOAD_SKILL]
    return [LOAD_SKILL, needed[0]] if tool in tools_after_skill(harness) else []
