"""Which texts of a harness may be said in other words, and a harness state with one of them replaced."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hat.augment.state import HarnessState
from hat.augment.variants import in_names_of, purpose
from hat.augment.wordings.document import Bank
from hat.harness.model import Harness
from hat.harness.symbols import rewrite_code_spans

FAMILY_OF: dict[Bank, str] = {"tool_descriptions": "T3", "skill_descriptions": "S2", "hook_messages": "K1"}


@dataclass(frozen=True)
class Text:
    """One text, by what it is of and not by a name that a harness version may change.

    In ``words`` a tool in a code span stands as ``@operation``.
    """

    bank: Bank
    key: str
    """The tool's operation; the skill's kind and intents; the hook's check."""
    words: str


def texts_of(harness: Harness) -> list[Text]:
    """Descriptions of tools and of skills that answer something, and messages of hooks; each key once."""
    found: dict[tuple[str, str], Text] = {}
    for text in _texts(harness):
        found.setdefault((text.bank, text.key), text)
    return list(found.values())


def with_text(state: HarnessState, text: Text) -> HarnessState:
    """The state in which a text stands in place of the one of the same key."""
    harness = state.canonical
    words = in_names_of(harness, text.words)
    if text.bank == "tool_descriptions":
        tool_name = harness.tool_for(text.key)
        tools = tuple(
            replace(tool, description=words) if tool.name == tool_name else tool for tool in harness.tools
        )
        harness = replace(harness, tools=tools)
    elif text.bank == "skill_descriptions":
        skills = tuple(
            replace(skill, description=words) if purpose(skill) == text.key else skill
            for skill in harness.skills
        )
        harness = replace(harness, skills=skills)
    else:
        hooks = tuple(
            replace(hook, message=words) if hook.check == text.key else hook for hook in harness.hooks
        )
        harness = replace(harness, hooks=hooks)
    canonical = replace(harness, files_digest="")
    return replace(state, canonical=canonical, families=(*state.families, FAMILY_OF[text.bank]))


def _texts(harness: Harness) -> Iterator[Text]:
    to_operation = _to_operation(harness)
    for tool in harness.tools:
        words = rewrite_code_spans(tool.description, to_operation)
        yield Text("tool_descriptions", harness.binding(tool.name).operation, words)
    for skill in harness.skills:
        if skill.intents:
            words = rewrite_code_spans(skill.description, to_operation)
            yield Text("skill_descriptions", purpose(skill), words)
    for hook in harness.hooks:
        yield Text("hook_messages", hook.check, rewrite_code_spans(hook.message, to_operation))


def _to_operation(harness: Harness) -> Callable[[str], str]:
    operations = {tool: f"@{binding.operation}" for tool, binding in harness.bindings}
    return lambda symbol: operations.get(symbol, symbol)
