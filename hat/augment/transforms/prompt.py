"""Prompt transforms: P1 reorder blocks and items, P3 change the layout."""

from dataclasses import replace

from hat.augment.config import TEST_ONLY_LAYOUTS
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Transform
from hat.errors import BadInput
from hat.harness.model import Block, Document


def _reorder(state: HarnessState, draw: Draw) -> HarnessState:
    blocks = [_shuffle_items(block, draw) for block in state.canonical.blocks]
    draw.rng.shuffle(blocks)
    return replace(state, canonical=replace(state.canonical, blocks=tuple(blocks)))


def _shuffle_items(block: Block, draw: Draw) -> Block:
    items = list(block.document.items)
    draw.rng.shuffle(items)
    return replace(block, document=Document(block.document.title, tuple(items)))


def _change_layout(state: HarnessState, draw: Draw) -> HarnessState:
    unseen = [layout for layout in draw.config.layouts if layout in TEST_ONLY_LAYOUTS]
    if unseen and draw.split != "test":
        raise BadInput(
            f"layout {unseen[0]} is kept for the test split", mend="Take it out of augment.layouts."
        )
    others = [layout for layout in draw.config.layouts if layout != state.canonical.layout]
    if not others:
        return state
    return replace(state, canonical=replace(state.canonical, layout=draw.rng.choice(others)))


P1 = Transform("P1", "reorder prompt blocks and their items", frozenset({"blocks"}), _reorder)
P3 = Transform("P3", "change the layout of blocks and skills", frozenset({"layout"}), _change_layout)
