"""A harness as the model sees it: the system prompt, the tools for the chat template, a loaded skill."""

import json
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hat.errors import BadInput
from hat.harness.model import Document, Harness, Layout

_PROMPTS_KEPT = 64
"""Sessions of one harness whose prompts are remembered."""
_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)


def render_system_prompt(harness: Harness, session: Mapping[str, str | int]) -> str:
    """The prompt blocks in order, in the harness's layout, with session values filled in.

    Rendered once for a harness and a session, which many tasks share.

    Raises:
        BadInput: a template names a session value that is not there, or reaches outside the sandbox.
    """
    known, key = harness.prompts, repr(session)
    if key not in known:
        if len(known) >= _PROMPTS_KEPT:
            known.clear()
        known[key] = _render_system_prompt(harness, session)
    return known[key]


def _render_system_prompt(harness: Harness, session: Mapping[str, str | int]) -> str:
    documents = []
    for block in harness.blocks:
        items = block.document.items
        if block.kind == "skills":
            # The name stands after what it is for: a causal model that found the fitting description then reads on.
            listed = tuple(f"{skill.description}: `{skill.name}`" for skill in harness.skills)
            items = items + listed
        filled = tuple(
            _fill(item, session, f"{harness.name}@{harness.version} block {block.id}") for item in items
        )
        documents.append(Document(block.document.title, filled))
    return render_documents(documents, harness.layout)


def render_tools(harness: Harness) -> list[dict[str, Any]]:
    """The tools in the function format that chat templates take as ``tools=``."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in harness.tools
    ]


def render_skill(harness: Harness, skill_name: str) -> str:
    """What loading a skill returns."""
    return render_documents([harness.skill(skill_name).body], harness.layout)


def render_documents(documents: list[Document], layout: Layout) -> str:
    """Several documents in one layout; every layout shows the same titles and items in the same order."""
    if layout == "json":
        return json.dumps(
            {document.title: list(document.items) for document in documents}, ensure_ascii=False
        )
    return "\n".join(_LAYOUTS[layout](document) for document in documents)


def _markdown(document: Document) -> str:
    return "\n".join([f"# {document.title}", *(f"- {item}" for item in document.items)])


def _plain(document: Document) -> str:
    return "\n".join([f"{document.title}:", *document.items])


def _xml(document: Document) -> str:
    items = "".join(f"<item>{escape(item, quote=False)}</item>" for item in document.items)
    title = escape(document.title, quote=False).replace('"', "&quot;")
    return f'<section title="{title}">{items}</section>'


_LAYOUTS = {"markdown": _markdown, "plain": _plain, "xml": _xml}


@lru_cache(maxsize=4096)
def _template(text: str) -> Template:
    return _ENVIRONMENT.from_string(text)


def _fill(text: str, session: Mapping[str, str | int], where: str) -> str:
    if "{" not in text:
        return text
    try:
        return _template(text).render(**session)
    except TemplateError as error:
        raise BadInput(f"template cannot be filled: {error}", where=where) from error
