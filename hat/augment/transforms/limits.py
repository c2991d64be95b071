"""Transforms of limits, under which gold is derived again: P4 limits of reply and calls, K2 the retry budget."""

import re
from collections.abc import Iterator
from dataclasses import asdict, replace

from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform, with_harness
from hat.harness.model import Harness

REPLY_RANGE = (0.9, 1.5)
"""Longest reply, as a share of the harness's own."""
MORE_CALLS = 4
"""Most tool calls, beyond the harness's own."""
RETRIES = (1, 4)
"""Corrections after a block."""


class PerturbLimits(Transform):
    family = "P4"
    summary = "perturb numeric limits in range"
    needs = "limits that no text repeats as a number"
    invariant = "limits in range; gold derived again is right, and the scorer reads the new limit"
    breaks = "a limit learnt by heart"
    surfaces = frozenset({"limits"})
    regenerates = True

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        limits = state.canonical.limits
        stated = _stated(state.canonical, (limits.max_reply_characters, limits.max_tool_calls))
        if stated:
            raise Skip(f"a limit stands as a number in text: {stated!r}")
        low, high = _reply_range(limits.max_reply_characters)
        lengths = [length for length in range(low, high + 1) if length != limits.max_reply_characters]
        if not lengths:
            raise Skip("the limit of the reply leaves no range")
        calls = limits.max_tool_calls + draw.rng.randint(0, MORE_CALLS)
        changed = replace(limits, max_reply_characters=draw.rng.choice(lengths), max_tool_calls=calls)
        return with_harness(state, limits=changed)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        old, new = before.canonical.limits, after.canonical.limits
        low, high = _reply_range(old.max_reply_characters)
        if not low <= new.max_reply_characters <= high:
            yield f"a reply of {new.max_reply_characters} characters is out of range"
        if not 0 <= new.max_tool_calls - old.max_tool_calls <= MORE_CALLS:
            yield f"{new.max_tool_calls} tool calls are out of range"
        yield from _others_changed(before, after, {"max_reply_characters", "max_tool_calls"})


class PerturbRetries(Transform):
    family = "K2"
    summary = "change the retry budget"
    needs = "nothing"
    invariant = "a budget in range; gold derived again ends with a reply"
    breaks = "counting on a number of corrections"
    surfaces = frozenset({"limits"})
    regenerates = True

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        limits = state.canonical.limits
        budgets = [n for n in range(RETRIES[0], RETRIES[1] + 1) if n != limits.max_retries]
        return with_harness(state, limits=replace(limits, max_retries=draw.rng.choice(budgets)))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        if not RETRIES[0] <= after.canonical.limits.max_retries <= RETRIES[1]:
            yield f"{after.canonical.limits.max_retries} retries are out of range"
        yield from _others_changed(before, after, {"max_retries"})


def _reply_range(characters: int) -> tuple[int, int]:
    # Never below what fits a short sentence: a limit that no right reply meets has no gold.
    return max(round(characters * REPLY_RANGE[0]), min(characters, 80)), round(characters * REPLY_RANGE[1])


def _others_changed(before: HarnessState, after: HarnessState, own: set[str]) -> Iterator[str]:
    old, new = asdict(before.canonical.limits), asdict(after.canonical.limits)
    for name in old:
        if name not in own and old[name] != new[name]:
            yield f"{name} changed"


def _stated(harness: Harness, numbers: tuple[int, ...]) -> str:
    """The first text that says one of the numbers; empty where none does."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(str, numbers))})\b(?=.{{0,20}}(?:character|letter|call))")
    texts = [item for block in harness.blocks for item in block.document.items]
    texts += [item for skill in harness.skills for item in skill.body.items]
    texts += [hook.message for hook in harness.hooks]
    return next((text for text in texts if pattern.search(text)), "")
