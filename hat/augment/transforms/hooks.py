"""Hook transforms: K1 rewords the messages of hooks."""

from dataclasses import replace

from hat.augment.banks import bank
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Transform
from hat.harness.model import Harness, Hook
from hat.harness.symbols import rewrite_code_spans


def _reword(state: HarnessState, draw: Draw) -> HarnessState:
    hooks = tuple(_reword_one(hook, state.canonical, draw) for hook in state.canonical.hooks)
    return replace(state, canonical=replace(state.canonical, hooks=hooks))


def _reword_one(hook: Hook, harness: Harness, draw: Draw) -> Hook:
    variants = bank("hook_messages").get(hook.check, {}).get(draw.split)
    if not variants:
        return hook

    def name(symbol: str) -> str:
        return harness.tool_for(symbol[1:]) if symbol.startswith("@") else symbol

    return replace(hook, message=rewrite_code_spans(draw.rng.choice(variants), name))


K1 = Transform("K1", "reword hook messages", frozenset({"hooks"}), _reword)
