"""An original harness and an augmented state of it, part by part, with one trajectory under both."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from hat.augment.state import HarnessState
from hat.harness.render import render_tools
from hat.trajectories.present import Message, assistant_text, opening_messages, turn_messages
from hat.trajectories.record import Trajectory

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """Some text, and whether it stands on this side only."""

    text: str
    changed: bool


@dataclass(frozen=True)
class Pair:
    """One part under both states."""

    title: str
    original: tuple[Piece, ...]
    augmented: tuple[Piece, ...]

    @property
    def same(self) -> bool:
        return not any(piece.changed for piece in (*self.original, *self.augmented))


def side_by_side(original: HarnessState, state: HarnessState, trajectory: Trajectory) -> list[Pair]:
    """The prompt, the tools, every message of the trajectory and the hooks' messages, as a model sees them.

    ``trajectory`` is canonical, so what happens in it is the same on both sides: only how it is said differs.
    """
    before, after = (list(_parts(one, trajectory)) for one in (original, state))
    return [pair(title, text, other) for (title, text), (_, other) in zip(before, after, strict=True)] + [
        _hooks(original, state)
    ]


def pair(title: str, original: str, augmented: str) -> Pair:
    """Both texts, with the words that differ marked."""
    first, second = _WORDS.findall(original), _WORDS.findall(augmented)
    left: list[Piece] = []
    right: list[Piece] = []
    for operation, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        changed = operation != "equal"
        for pieces, text in ((left, "".join(first[a:b])), (right, "".join(second[c:d]))):
            if text:
                pieces.append(Piece(text, changed))
    return Pair(title, tuple(left), tuple(right))


def _parts(state: HarnessState, trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    system, user = opening_messages(trajectory.task, state)
    yield "system prompt", system["content"]
    tools = (json.dumps(tool["function"], ensure_ascii=False) for tool in render_tools(state.presented))
    yield "tools", "\n".join(tools)
    yield "viewer", user["content"]
    for number, turn in enumerate(trajectory.turns):
        _, *answers = turn_messages(turn, state, number)
        yield "assistant", assistant_text(turn, state)
        for answer in answers:
            yield _role(answer), answer["content"]


def _role(message: Message) -> str:
    return "tool result" if message["role"] == "tool" else "hook"


def _hooks(original: HarnessState, state: HarnessState) -> Pair:
    before, after = (
        "\n".join(f"{hook.event} {hook.check}: {hook.message}" for hook in one.presented.hooks)
        for one in (original, state)
    )
    return pair("hooks, when they block", before, after)
