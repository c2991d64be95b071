"""Tool calls in an assistant's text, parsed strictly: nothing is repaired, nothing is guessed.

The format is the one of Hermes-style models: ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``.
Silent repair would teach a model malformed calls, so every departure is an error with a code.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OPEN_TAG = "<tool_call>"
CLOSE_TAG = "</tool_call>"
_OPEN_THINKING = "<think>"
_CLOSE_THINKING = "</think>"
_OPENING = re.compile(f"{OPEN_TAG}|{_OPEN_THINKING}")
_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True)
class Call:
    """One tool call: a name and a JSON object of arguments."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class AssistantTurn:
    """What the assistant put out in one turn."""

    content: str
    """Text outside calls and thinking; the reply when there are no calls."""
    calls: tuple[Call, ...] = ()
    thinking: str = ""


class MalformedCall(Exception):
    """The assistant's text breaks the call format; ``code`` is from a closed set."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


def parse_assistant(text: str) -> AssistantTurn:
    """Split the text into thinking, content and calls, from left to right: tags inside a call's strings are text.

    Raises:
        MalformedCall: with code ``unclosed_thinking``, ``unclosed_tag``, ``stray_closing_tag``, ``two_calls_in_tag``,
            ``not_json``, ``not_a_call`` or ``arguments_not_object``.
    """
    content: list[str] = []
    thinking: list[str] = []
    calls: list[Call] = []
    position = 0
    while found := _OPENING.search(text, position):
        content.append(text[position : found.start()])
        if found.group() == OPEN_TAG:
            call, position = _parse_tag(text, found.end())
            calls.append(call)
        else:
            thought, position = _parse_thinking(text, found.end())
            thinking.append(thought)
    content.append(text[position:])
    outside = "".join(content)
    if CLOSE_TAG in outside:
        raise MalformedCall("stray_closing_tag", f"{CLOSE_TAG} without {OPEN_TAG}")
    if _CLOSE_THINKING in outside:
        raise MalformedCall("unclosed_thinking", f"{_CLOSE_THINKING} without {_OPEN_THINKING}")
    return AssistantTurn(outside.strip(), tuple(calls), "\n".join(thinking))


def render_call(call: Call) -> str:
    """The call exactly as the chat template writes it."""
    body = _ENCODER.encode({"name": call.name, "arguments": dict(call.arguments)})
    return f"{OPEN_TAG}{body}{CLOSE_TAG}"


def render_assistant(turn: AssistantTurn) -> str:
    """A turn as the text that `parse_assistant` reads back (thinking is not part of it)."""
    return turn.content + "".join(render_call(call) for call in turn.calls)


def _parse_thinking(text: str, start: int) -> tuple[str, int]:
    """The thought that begins at ``start``, and the position after its closing tag."""
    end = text.find(_CLOSE_THINKING, start)
    if end < 0:
        raise MalformedCall(
            "unclosed_thinking", f"{_OPEN_THINKING} is not closed, so no reply can be told from thought"
        )
    return text[start:end].strip(), end + len(_CLOSE_THINKING)


def _parse_tag(text: str, start: int) -> tuple[Call, int]:
    """The call whose JSON begins at ``start``, and the position after its closing tag.

    The JSON decoder finds the end of the object, so braces or tags inside strings do no harm.
    """
    begin = _skip_space(text, start)
    if text.find(CLOSE_TAG, begin) < 0:
        raise MalformedCall("unclosed_tag", f"{OPEN_TAG} is not closed")
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        raise MalformedCall("not_json", f"the call is not JSON: {error.msg}") from None
    except RecursionError:
        raise MalformedCall("not_json", "the call is nested too deeply") from None
    end = _skip_space(text, end)
    if text.startswith("{", end):
        raise MalformedCall("two_calls_in_tag", "two calls in one tag")
    if not text.startswith(CLOSE_TAG, end):
        raise MalformedCall("not_json", f"text between the call and {CLOSE_TAG}")
    return _as_call(value), end + len(CLOSE_TAG)


def _as_call(value: Any) -> Call:
    if (
        not isinstance(value, dict)
        or set(value) != {"name", "arguments"}
        or not isinstance(value["name"], str)
    ):
        raise MalformedCall("not_a_call", 'a call is {"name": text, "arguments": object}')
    if isinstance(value["arguments"], str):
        raise MalformedCall("arguments_not_object", "arguments are a JSON text; they must be an object")
    if not isinstance(value["arguments"], dict):
        raise MalformedCall("arguments_not_object", "arguments must be an object")
    return Call(value["name"], value["arguments"])


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
