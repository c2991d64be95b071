"""Prompt transforms: P1 reorder blocks and items, P2 move context to the user's message, P3 change the layout."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform, with_harness
from hat.harness.model import Block, Document


class ReorderPrompt(Transform):
    family = "P1"
    summary = "reorder prompt blocks and their items"
    needs = "two blocks, or a block with two items"
    invariant = "the same items in each block"
    breaks = "a block's place in the prompt"
    surfaces = frozenset({"blocks"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        if sum(max(1, len(block.document.items)) for block in state.canonical.blocks) < 2:
            raise Skip("there is nothing to change places")
        blocks = [_shuffle_items(block, draw) for block in state.canonical.blocks]
        draw.rng.shuffle(blocks)
        return with_harness(state, blocks=tuple(blocks))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        if _content(before) != _content(after):
            yield "the prompt blocks no longer hold the same items"


class MoveContext(Transform):
    family = "P2"
    summary = "move context from the system prompt to the user's message"
    needs = "a prompt block with session values, beside another block"
    invariant = "the same blocks, each shown once"
    breaks = "looking for the session's facts in the system prompt only"
    surfaces = frozenset({"user_blocks"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        movable = [block.id for block in state.canonical.blocks if _is_context(block)]
        movable = [name for name in movable if name not in state.user_blocks]
        left = len(state.canonical.blocks) - len(state.user_blocks)
        if not movable or left < 2:
            raise Skip("no block with session values can leave the system prompt")
        return replace(state, user_blocks=(*state.user_blocks, draw.rng.choice(movable)))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        context = {block.id for block in after.canonical.blocks if _is_context(block)}
        if not set(after.user_blocks) <= context:
            yield "a block was moved that is not context"
        shown = [*after.system_harness.blocks, *after.user_harness.blocks]
        if Counter(block.id for block in shown) != Counter(block.id for block in after.canonical.blocks):
            yield "a block is shown twice or not at all"
        if not after.system_harness.blocks:
            yield "the system prompt is empty"


class ChangeLayout(Transform):
    family = "P3"
    summary = "change the layout of blocks and skills"
    needs = "another layout that the settings allow"
    invariant = "the same titles and items in the same order"
    breaks = "finding things by Markdown's marks"
    surfaces = frozenset({"layout"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        others = [layout for layout in draw.config.layouts if layout != state.canonical.layout]
        if not others:
            raise Skip("the settings allow no other layout")
        return with_harness(state, layout=draw.rng.choice(others))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        if before.canonical.layout == after.canonical.layout:
            yield "the layout is the old one"


def _shuffle_items(block: Block, draw: Draw) -> Block:
    items = list(block.document.items)
    draw.rng.shuffle(items)
    return replace(block, document=Document(block.document.title, tuple(items)))


def _content(state: HarnessState) -> Counter[tuple[str, str, str, tuple[str, ...]]]:
    return Counter(
        (block.id, block.kind, block.document.title, tuple(sorted(block.document.items)))
        for block in state.canonical.blocks
    )


def _is_context(block: Block) -> bool:
    return block.kind == "prompt" and any("{{" in item for item in block.document.items)
