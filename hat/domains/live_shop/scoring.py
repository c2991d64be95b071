"""Scores one episode of the simulated live room against its task's gold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hat.domains.base import Fact, Scores, Task
from hat.domains.live_shop.catalogue import Catalogue
from hat.domains.live_shop.gold import coupon_facts, price_fact, return_facts, shipping_facts, stock_fact
from hat.domains.live_shop.operations import (
    INVALID_ARGUMENTS,
    NOT_FOUND,
    UNKNOWN_OPERATION,
    canonical_operation,
    execute_operation,
)
from hat.domains.live_shop.reading.extract import extract_facts
from hat.domains.live_shop.return_rules import stated_return_rules
from hat.domains.order import REQUIRED_ORDER, order_kept
from hat.errors import BadInput
from hat.harness.model import LOAD_SKILL, Harness
from hat.trajectories.record import Observation, Trajectory

DOMAIN_ERRORS = frozenset({NOT_FOUND, INVALID_ARGUMENTS, UNKNOWN_OPERATION})
"""Error codes that the domain itself gives; any other (timeout, malformed, permission denied) is a fault."""

_MARKUP = re.compile(r"^\s*(?:[-*#>|]|[0-9]+\.)\s|\*\*|```|`|</?\w+>|[{}]|\n", re.M)


def score(task: Task, trajectory: Trajectory, harness: Harness, catalogue: Catalogue) -> Scores:
    """All scores of an episode; `harness` is the canonical harness it ran under."""
    replied = trajectory.end == "replied"
    asserted = asserted_facts(task, trajectory.reply, catalogue) if replied else frozenset()
    gold = frozenset(task.facts)
    order = task.slots.get(REQUIRED_ORDER)
    accurate = replied and asserted == gold and (not order or order_kept(order, trajectory, harness))
    skills = loaded_skills(trajectory)
    return Scores(
        accuracy=int(accurate),
        effectiveness=_effectiveness(task, trajectory, harness, asserted, accurate, catalogue),
        tool_rationality=_tool_rationality(task, trajectory, harness),
        skill_selection=_skill_selection(task, skills, harness),
        skill_loaded=any(known.kind == "reply" for known in harness.skills if known.name in skills),
        refused=Fact("decline", "") in asserted,
        parsed=all(turn.raw is None for turn in trajectory.turns),
    )


def asserted_facts(task: Task, reply: str, catalogue: Catalogue) -> frozenset[Fact]:
    """What the reply asserts, without what merely follows from the gold or repeats the question."""
    subjects = {fact.subject for fact in task.facts}
    default = next(iter(subjects)) if len(subjects) == 1 else ""
    facts = extract_facts(reply, catalogue, default)
    return frozenset(fact for fact in facts if not _follows(fact, task))


def loaded_skills(trajectory: Trajectory) -> list[str]:
    """Canonical names of the skills loaded, in order, each once."""
    names = [o.value for turn in trajectory.turns for o in turn.observations if o.kind == "skill"]
    return list(dict.fromkeys(names))


def is_fault(observation: Observation) -> bool:
    """Whether a fault, and not the domain, gave this answer: making the call again is right then."""
    if observation.kind == "error":
        return observation.code not in DOMAIN_ERRORS
    return observation.kind == "result" and bool(observation.code)


def in_format(reply: str, harness: Harness) -> bool:
    """One line of plain text within the harness's length limit."""
    length_ok = 0 < len(reply.strip()) <= harness.limits.max_reply_characters
    return length_ok and _MARKUP.search(reply.strip()) is None


def known_facts(trajectory: Trajectory, harness: Harness, catalogue: Catalogue) -> frozenset[Fact]:
    """Every fact that the episode's session and successful tool results support."""
    session = trajectory.task.session
    facts = {Fact("ends_at", str(session["ends_at"])), Fact("host", str(session["host"]))}
    for operation, arguments, observation in _domain_calls(trajectory, harness):
        if observation.kind == "result" and not is_fault(observation):
            facts |= set(_result_facts(operation, arguments, harness, catalogue))
    return frozenset(facts)


def _follows(fact: Fact, task: Task) -> bool:
    """Whether a side remark merely follows from the gold (in stock, cheaper, ...) or repeats the question."""
    if fact.kind == "region":
        return fact.value == task.slots.get("region")
    if fact.value.startswith("not "):
        # "not glass, it is bamboo": true wherever the gold gives another value of the same kind.
        same = [gold for gold in task.facts if (gold.kind, gold.subject) == (fact.kind, fact.subject)]
        return bool(same) and all(gold.value != fact.value.removeprefix("not ") for gold in same)
    if fact.kind == "available":
        return any(gold.kind == "stock" and gold.subject == fact.subject for gold in task.facts)
    prices = {gold.subject: round(10 * float(gold.value)) for gold in task.facts if gold.kind == "price"}
    if len(prices) != 2:
        return False
    if fact.kind == "difference":
        low, high = sorted(prices.values())
        return _tenths(fact.value) == high - low
    if fact.kind in ("cheaper", "dearer"):
        wanted = min(prices.values()) if fact.kind == "cheaper" else max(prices.values())
        return prices.get(fact.subject) == wanted
    return False


def _tenths(text: str) -> int | None:
    try:
        return round(10 * float(text))
    except ValueError:
        return None


def _effectiveness(
    task: Task,
    trajectory: Trajectory,
    harness: Harness,
    asserted: frozenset[Fact],
    accurate: bool,
    catalogue: Catalogue,
) -> float:
    if trajectory.end != "replied":
        return 0.0
    if accurate:
        return 1.0 if in_format(trajectory.reply, harness) else 0.5
    gold = frozenset(task.facts)
    if gold <= asserted and asserted - gold <= known_facts(trajectory, harness, catalogue):
        return 0.5
    return 0.5 if asserted and asserted < gold else 0.0


def _tool_rationality(task: Task, trajectory: Trajectory, harness: Harness) -> float:
    """|needed ∩ made| / |needed ∪ made|; a repeat is one more call made, a retry after a fault is not."""
    needed = {canonical_operation(operation, arguments) for operation, arguments in task.operations}
    made: Counter[str] = Counter()
    faulted: Counter[str] = Counter()
    for operation, arguments, observation in _domain_calls(trajectory, harness):
        key = canonical_operation(operation, arguments)
        if faulted[key]:
            faulted[key] -= 1
        else:
            made[key] += 1
        if is_fault(observation):
            faulted[key] += 1
    extra = sum(count - (1 if key in needed else 0) for key, count in made.items())
    union = len(needed) + extra
    return 1.0 if union == 0 else len(needed & set(made)) / union


def _domain_calls(
    trajectory: Trajectory, harness: Harness
) -> Iterable[tuple[str, Mapping[str, Any], Observation]]:
    """Every tool call in domain terms but skill loads; a call that names no known tool keeps its name."""
    for turn in trajectory.turns:
        for call, observation in zip(turn.calls, turn.observations, strict=True):
            try:
                binding = harness.binding(call.name)
            except BadInput:
                yield f"unknown {call.name}", call.arguments, observation
                continue
            if binding.operation != LOAD_SKILL:
                names = dict(binding.arguments)
                yield binding.operation, {names.get(k, k): v for k, v in call.arguments.items()}, observation


def _skill_selection(task: Task, loaded: list[str], harness: Harness) -> float:
    """1 for exactly the right reply skill. That a link is unknown shows only after its question's skill was loaded,
    so there the skill of the question is right, and the one for declining is welcome; so it is where the harness
    gives no way to answer."""
    gold = harness.skill_for(task.slots.get("asked", task.intent))
    if gold not in loaded:
        return 0.0
    welcome = {s.name for s in harness.skills if s.kind == "strategy" and task.intent in s.intents}
    if not task.answerable and task.intent != "off_topic":
        welcome.add(harness.skill_for("missing_link"))
    return 1.0 if set(loaded) <= {gold} | welcome else 0.5


def _result_facts(
    operation: str, arguments: Mapping[str, Any], harness: Harness, catalogue: Catalogue
) -> list[Fact]:
    if execute_operation(catalogue, operation, arguments).status != "ok" or operation == "search_products":
        return []
    product = catalogue.products[arguments["link_id"]]
    if operation == "product_info":
        details = [
            Fact(kind, getattr(product, kind), product.subject) for kind in ("material", "color", "size")
        ]
        rules = stated_return_rules(harness)
        known = product.return_class in rules
        returns = return_facts(product.subject, rules[product.return_class]) if known else ()
        return [price_fact(product), *returns, *details]
    if operation == "check_stock":
        available = [Fact("available", "", product.subject)] if product.stock else []
        return [stock_fact(product), *available]
    if operation == "find_coupon":
        return list(coupon_facts(product))
    region = str(arguments["region"])
    return [*shipping_facts(catalogue, product, region)]
