"""The length of a harness as a model sees it, estimated in tokens without any tokenizer."""

import re
from typing import Any

from hat.harness.linting.subject import Subject
from hat.harness.model import Document, Harness
from hat.harness.problems import Problems
from hat.harness.render import render_documents, render_tools

TOKEN_BUDGET = 450
"""For the whole rendered harness, tools included: what keeps a CPU fast enough."""
TEMPLATE_TOKENS = 40
"""What the chat template adds around the harness's own texts: turn markers, how to call a tool."""
_PIECE = re.compile(r"[A-Za-z]+|[0-9]|\n|[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\sA-Za-z0-9]")
_WHOLE_WORD = 9
"""Longer English words and parts of identifiers usually take a further token."""


def estimate_tokens(text: str) -> int:
    """Tokens of a text, estimated from its words, digits, symbols and line ends.

    Weights were set by hand against SmolLM2's tokenizer on live-shop and 27 public harness files: 0.98 of the
    true number for live-shop, 0.9 to 1.1 for English files. Chinese and other scripts vary more.
    """
    total = 0.0
    for piece in _PIECE.findall(text):
        if piece.isascii() and piece.isalpha():
            total += 1 + (len(piece) - 1) // _WHOLE_WORD
        elif piece == "\n":
            total += 0.6
        elif piece.isdigit():
            total += 1
        elif piece >= "\u2e80":
            total += 1.9
        else:
            total += 0.85 if piece.isascii() else 1.3
    return round(total)


def estimate_harness_tokens(harness: Harness) -> int:
    """Tokens of system prompt and tools in SmolLM2's template, estimated."""
    return estimate_tokens(rendered_text(harness)) + TEMPLATE_TOKENS


def rendered_text(harness: Harness) -> str:
    """System prompt and tools about as SmolLM2's template writes them; session values stay unfilled."""
    documents = []
    for block in harness.blocks:
        listed = (
            tuple(f"`{s.name}`: {s.description}" for s in harness.skills) if block.kind == "skills" else ()
        )
        documents.append(Document(block.document.title, block.document.items + listed))
    tools = [_signature(entry["function"]) for entry in render_tools(harness)]
    return "\n".join([render_documents(documents, harness.layout), *tools])


def check_budget(subject: Subject, problems: Problems) -> None:
    """Needs a version without errors of format."""
    harness = subject.reading.harness
    if harness is None:
        return
    tokens = estimate_harness_tokens(harness)
    if tokens > TOKEN_BUDGET:
        message = f"about {tokens} tokens (an estimate), tools included; the budget is {TOKEN_BUDGET}"
        problems.add("token-budget", subject.manifest_path, message, subject.line("prompt"))


def _signature(function: dict[str, Any]) -> str:
    parameters = function["parameters"].get("properties", {})
    shown = ", ".join(f"{name}: {_kind(schema)}" for name, schema in parameters.items())
    return f"{function['name']}({shown}): {function['description']}"


def _kind(schema: Any) -> str:
    if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
        return "|".join(f'"{value}"' for value in schema["enum"])
    return str(schema.get("type", "any")) if isinstance(schema, dict) else "any"
