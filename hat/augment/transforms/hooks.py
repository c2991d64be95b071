"""Hook transforms: K1 reword messages, K3 reorder checks that commute, K4 make a check later."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform, with_harness
from hat.augment.variants import in_names_of, variants
from hat.harness.model import Harness, Hook

INDEPENDENT_CHECKS = frozenset({"reply_skill_loaded", "reply_length", "price_claims_match_results"})
"""Checks of the reply that only look: each blocks or passes whatever the others do, so their order decides no more than
which of two faults is named first."""
DEFERRED = "arguments_valid"
"""The check that K4 makes before the reply instead of before the call."""


class RewordMessages(Transform):
    family = "K1"
    summary = "reword hook messages"
    needs = "hooks"
    invariant = "the same checks at the same points in the same order; the message names the same fix"
    breaks = "a message's wording learnt by heart"
    surfaces = frozenset({"hooks"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        if not any(_messages(hook, state.canonical, draw) for hook in state.canonical.hooks):
            raise Skip("the bank has no messages for the checks of this harness")
        hooks = tuple(_reword_one(hook, state.canonical, draw) for hook in state.canonical.hooks)
        return with_harness(state, hooks=hooks)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        if _points(before) != _points(after):
            yield "the hooks no longer make the same checks in the same order"


class ReorderHooks(Transform):
    family = "K3"
    summary = "reorder checks that commute"
    needs = "two checks of the reply that only look"
    invariant = "every input with one fault gets the same verdict; the same replies are accepted in the end"
    breaks = "expecting corrections in an order"
    surfaces = frozenset({"hooks"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        hooks = list(state.canonical.hooks)
        places = [n for n, hook in enumerate(hooks) if _commutes(hook)]
        if len(places) < 2:
            raise Skip("fewer than two checks are known to commute")
        old = [hooks[n] for n in places]
        new = draw.rng.sample(old, k=len(old))
        if new == old:
            new = old[1:] + old[:1]
        for place, hook in zip(places, new, strict=True):
            hooks[place] = hook
        return with_harness(state, hooks=tuple(hooks))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        old, new = before.canonical.hooks, after.canonical.hooks
        if Counter(old) != Counter(new):
            yield "the hooks are no longer the same set"
        for was, now in zip(old, new, strict=False):
            if was != now and not (_commutes(was) and _commutes(now)):
                yield f"{was.check} changed places, which may not"


class DeferCheck(Transform):
    family = "K4"
    summary = "check a call's arguments before the reply instead of before the call"
    needs = "a hook that checks the arguments of all tools before the call, and tools that only read"
    invariant = (
        "the same replies are accepted in the end: a wrong call has no effect, and must be made right first"
    )
    breaks = "expecting a correction at one point"
    surfaces = frozenset({"hooks"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        harness = state.canonical
        place = next((n for n, hook in enumerate(harness.hooks) if _checks_arguments(hook)), None)
        if place is None:
            raise Skip("no hook checks the arguments of all tools before the call")
        acting = [tool.name for tool in harness.tools if not _only_reads(harness, tool.name)]
        if acting:
            raise Skip(f"{acting[0]} may have effects, so its call must be checked before it is made")
        moved = replace(harness.hooks[place], event="PreReply")
        hooks = [hook for n, hook in enumerate(harness.hooks) if n != place]
        first = next((n for n, hook in enumerate(hooks) if hook.event == "PreReply"), len(hooks))
        hooks.insert(first, moved)
        return with_harness(state, hooks=tuple(hooks))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        def others(state: HarnessState) -> list[Hook]:
            return [hook for hook in state.canonical.hooks if hook.check != DEFERRED]

        if others(before) != others(after):
            yield "other hooks changed"
        moved = [hook for hook in after.canonical.hooks if hook.check == DEFERRED]
        was = [hook for hook in before.canonical.hooks if hook.check == DEFERRED]
        if len(moved) != len(was) or not any(hook.event == "PreReply" for hook in moved):
            yield "the check of arguments is not made before the reply"


def _reword_one(hook: Hook, harness: Harness, draw: Draw) -> Hook:
    messages = _messages(hook, harness, draw)
    return replace(hook, message=in_names_of(harness, draw.rng.choice(messages))) if messages else hook


def _messages(hook: Hook, harness: Harness, draw: Draw) -> tuple[str, ...]:
    return variants("hook_messages", hook.check, harness.domain, draw.split, draw.config.wordings)


def _points(state: HarnessState) -> list[tuple[str, str, str]]:
    return [(hook.event, hook.matcher, hook.check) for hook in state.canonical.hooks]


def _commutes(hook: Hook) -> bool:
    return hook.event == "PreReply" and hook.check in INDEPENDENT_CHECKS


def _checks_arguments(hook: Hook) -> bool:
    return (hook.event, hook.matcher, hook.check) == ("PreToolUse", "*", DEFERRED)


def _only_reads(harness: Harness, tool: str) -> bool:
    return json.loads(harness.tool(tool).annotations_json).get("readOnlyHint") is True
