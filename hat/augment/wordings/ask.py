"""Asks a strong model for wordings; each answer is kept, so that the same question is asked once."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hat.augment.wordings.texts import Text
from hat.files import canonical_json, read_json, sha256_text, write_json_atomic

Message = dict[str, Any]
AskModel = Callable[[Sequence[Sequence[Message]]], list[str]]
"""Conversations -> plain replies, empty where one got none."""

_WHAT: Mapping[str, str] = {
    "tool_descriptions": "the description of a tool",
    "skill_descriptions": "the description of a skill, which says when it applies",
    "hook_messages": "a message that tells a model what to correct",
}
_INSTRUCTION = (
    "You say short English texts in other words. Keep the meaning exactly: it must apply to the same cases and to no "
    "others. Keep every `code span`, every {placeholder} and every number as it is. One line, about as long as the "
    "text. Answer with a JSON list of strings and nothing else."
)


def question(text: Text, others: Sequence[Text], count: int) -> list[Message]:
    """The conversation that asks for ``count`` wordings of a text."""
    lines = [f"Give {count} wordings of this text, which is {_WHAT[text.bank]}:", text.words]
    if others and text.bank != "hook_messages":
        lines += ["They must not fit any of these:", *(f"- {other.words}" for other in others)]
    return [{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": "\n".join(lines)}]


def ask(questions: Sequence[list[Message]], model: str, ask_model: AskModel, cache: Path) -> list[str]:
    """The model's replies, from the cache where they are there; an empty reply is not kept.

    Args:
        model: names whose answers these are, as part of the cache's key.
    """
    files = [cache / f"{sha256_text(canonical_json([model, messages]))}.json" for messages in questions]
    missing = [number for number, file in enumerate(files) if not file.is_file()]
    replies = ask_model([questions[number] for number in missing]) if missing else []
    for number, reply in zip(missing, replies, strict=True):
        if reply:
            document = {"schema_version": 1, "model": model, "question": questions[number], "reply": reply}
            write_json_atomic(files[number], document)
    fresh = dict(zip(missing, replies, strict=True))
    return [
        fresh[number] if number in fresh else str(read_json(file)["reply"])
        for number, file in enumerate(files)
    ]


def read_list(reply: str) -> list[str] | None:
    """The JSON list of strings that a reply is, alone or in a code fence; None for anything else."""
    body = reply.strip()
    if body.startswith("```") and body.endswith("```"):
        body = body.removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        value = json.loads(body)
    except ValueError:
        return None
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        return None
    return value
