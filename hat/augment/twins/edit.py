"""Small typed edits of a harness that twins are made of; no text is changed by searching in it."""

from dataclasses import replace

from hat.augment.banks import bank
from hat.augment.state import HarnessState
from hat.domains.base import Split
from hat.harness.model import LOAD_SKILL, Block, Document, Harness, Skill
from hat.harness.symbols import code_spans, rewrite_code_spans


def changed(state: HarnessState, canonical: Harness, kind: str) -> HarnessState:
    """The state with another canonical harness, marked with the twin's kind."""
    return replace(state, canonical=replace(canonical, files_digest=""), families=(*state.families, kind))


def with_rule(harness: Harness, text: str) -> Harness:
    """The harness with one more item in its block of rules: the one that tells to load skills, else the last."""
    load = harness.tool_for(LOAD_SKILL)
    prompts = [block for block in harness.blocks if block.kind == "prompt"]
    rules = next(
        (block for block in prompts if any(names(item, load) for item in block.document.items)), None
    )
    chosen = rules or (prompts or list(harness.blocks))[-1]
    blocks = tuple(_with_item(block, text) if block is chosen else block for block in harness.blocks)
    return replace(harness, blocks=blocks)


def without_tool(harness: Harness, tool: str) -> Harness:
    """The harness without a tool, and without the hooks on it and the items that tell to call it."""

    def kept(document: Document) -> Document:
        return Document(document.title, tuple(item for item in document.items if not names(item, tool)))

    return replace(
        harness,
        tools=tuple(known for known in harness.tools if known.name != tool),
        bindings=tuple((name, binding) for name, binding in harness.bindings if name != tool),
        blocks=tuple(replace(block, document=kept(block.document)) for block in harness.blocks),
        skills=tuple(replace(skill, body=kept(skill.body)) for skill in harness.skills),
        hooks=tuple(hook for hook in harness.hooks if hook.matcher != tool and not names(hook.message, tool)),
    )


def with_body(harness: Harness, skill: str, items: tuple[str, ...]) -> Harness:
    """The harness with other items in a skill's body."""

    def replaced(known: Skill) -> Skill:
        return replace(known, body=Document(known.body.title, items)) if known.name == skill else known

    return replace(harness, skills=tuple(replaced(known) for known in harness.skills))


def names(text: str, symbol: str) -> bool:
    """Whether the text refers to a tool, or to an argument of it, in a code span."""
    return any(span.split(".")[0] == symbol for _, span in code_spans(text))


def wording(kind: str, member: str, split: Split, number: int, harness: Harness, tool: str) -> str:
    """A rule's text from the bank of one split; ``@tool`` and ``@load_skill`` become code spans' names."""
    variants = bank("twin_rules")[kind][split]
    symbols = {"@tool": tool, "@load_skill": harness.tool_for(LOAD_SKILL)}
    text: str = variants[number % len(variants)][member]
    return rewrite_code_spans(text, lambda symbol: symbols.get(symbol, symbol))


def _with_item(block: Block, text: str) -> Block:
    document = block.document
    return replace(block, document=Document(document.title, (*document.items, text)))
