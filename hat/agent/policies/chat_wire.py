"""The chat completions format: an episode's messages as a request, a response as an assistant's turn."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hat.agent.calls import CLOSE_TAG, OPEN_TAG, AssistantTurn, Call, MalformedCall, parse_assistant


class UnreadableResponse(Exception):
    """The response is not a chat completion."""


def wire_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages with call arguments as JSON text, as the format asks for."""
    return [_wire_message(message) for message in messages]


def read_response(body: Any) -> str | AssistantTurn:
    """The assistant's output: a turn where calls came as structured ``tool_calls``, else its text as it is.

    A structured call whose arguments are not a JSON object is handed on as text that the strict parser
    refuses: it is the model's mistake, which the episode answers.

    Raises:
        UnreadableResponse: not a chat completion.
    """
    try:
        message = body["choices"][0]["message"]
        content = message.get("content") or ""
        calls = message.get("tool_calls") or []
        thinking = message.get("reasoning_content") or message.get("reasoning") or ""
        if not isinstance(content, str) or not isinstance(thinking, str):
            raise TypeError("content is not text")
        named = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
        if not all(isinstance(name, str) for name, _ in named):
            raise TypeError("a call's name is not text")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise UnreadableResponse(f"not a chat completion: {error}") from error
    if not named:
        return f"<think>{thinking}</think>{content}" if thinking else content
    try:
        written = parse_assistant(content)
        structured = tuple(Call(name, _arguments(arguments)) for name, arguments in named)
    except (MalformedCall, ValueError):
        return content + "".join(_as_text(name, arguments) for name, arguments in named)
    return AssistantTurn(written.content, written.calls + structured, thinking or written.thinking)


def _wire_message(message: Mapping[str, Any]) -> dict[str, Any]:
    wired = dict(message)
    if "tool_calls" in wired:
        wired["tool_calls"] = [
            {
                **call,
                "function": {
                    "name": call["function"]["name"],
                    "arguments": json.dumps(call["function"]["arguments"], ensure_ascii=False),
                },
            }
            for call in wired["tool_calls"]
        ]
    return wired


def _arguments(value: Any) -> dict[str, Any]:
    """The format carries arguments as JSON text; some servers send the object itself."""
    arguments = json.loads(value) if isinstance(value, str) else value
    if not isinstance(arguments, dict):
        raise ValueError("arguments are not an object")
    return arguments


def _as_text(name: str, arguments: Any) -> str:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return f'{OPEN_TAG}{{"name": {json.dumps(name)}, "arguments": {written}}}{CLOSE_TAG}'
