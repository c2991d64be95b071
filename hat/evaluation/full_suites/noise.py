"""Harness states whose names are misspelt or reversed, in the manner of RoTBench (Ye et al. 2024, arXiv 2401.08326).

Nothing in them is a synonym: whoever copies a name from the prompt is not disturbed, whoever expects a word is.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from hat.augment.codec import Codec
from hat.augment.naming import LEGAL_NAME
from hat.augment.state import HarnessState
from hat.files import sha256_text
from hat.harness.model import Harness

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def with_name_noise(harness: Harness, *, split: str, seed: int) -> HarnessState:
    """The harness with every tool's and argument's name misspelt (RoTBench's *slight*) or reversed (*medium*).

    One way for a whole state; names stay legal and different from each other and from all old ones.
    """
    draw = random.Random(sha256_text(f"{harness.digest}/{split}/noise/{seed}"))
    noisy = draw.choice((_misspelt, _reversed))
    taken = {tool.name for tool in harness.tools} | {skill.name for skill in harness.skills}
    arguments = {name for tool in harness.tools for name in tool.input_schema.get("properties", {})}
    taken |= arguments
    tools = {tool.name: _new(tool.name, noisy, taken, draw) for tool in harness.tools}
    # An argument that several tools share keeps one name, since a text may name it without its tool.
    shown = {name: _new(name, noisy, taken, draw) for name in sorted(arguments)}
    places = {
        (tool.name, name): shown[name]
        for tool in harness.tools
        for name in tool.input_schema.get("properties", {})
    }
    original = HarnessState.original(harness)
    return replace(original, codec=Codec(tools=tools, arguments=places), seed=seed, split=split)


def _new(name: str, noisy: Callable[[str, random.Random], str], taken: set[str], draw: random.Random) -> str:
    """A noisy name that is free; misspelt where the way chosen gives none (a palindrome reversed)."""
    candidate = noisy(name, draw)
    while candidate in taken or not LEGAL_NAME.match(candidate):
        candidate = _misspelt(candidate, draw)
    taken.add(candidate)
    return candidate


def _misspelt(name: str, draw: random.Random) -> str:
    """A letter left out, put in or exchanged."""
    place = draw.randrange(len(name))
    kind = draw.choice(("out", "in", "other"))
    if kind == "out" and len(name) > 2:
        return name[:place] + name[place + 1 :]
    return name[:place] + draw.choice(_LETTERS) + name[place + (kind == "other") :]


def _reversed(name: str, draw: random.Random) -> str:
    return name[::-1]
