"""Other words for a harness's texts: those of the hand-written banks, then a run's own, by split."""

from collections.abc import Iterator, Mapping
from typing import Any

from hat.augment.banks import bank
from hat.augment.wordings.document import Bank, Wordings
from hat.harness.model import Harness, Skill
from hat.harness.symbols import rewrite_code_spans


def variants(name: Bank, key: str, domain: str, split: str, wordings: Wordings | None) -> tuple[str, ...]:
    """The variants of a text in a split; none where neither the bank nor the run has any.

    Args:
        key: the tool's operation; the skill's `purpose`; the hook's check.
    """
    own = wordings.banks.get(name, {}) if wordings is not None and wordings.domain == domain else {}
    by_split: Mapping[Any, tuple[str, ...]] = own.get(key, {})
    return (*written(name, key, domain).get(split, ()), *by_split.get(split, ()))


def written(name: Bank, key: str, domain: str) -> Mapping[str, Any]:
    """What the hand-written bank has for a text: variants by split and, for a description, the words that name it."""
    entries: Mapping[str, Any] = bank(name) if name == "hook_messages" else bank(name).get(domain, {})
    entry: Mapping[str, Any] = entries.get(key, {})
    return entry


def purpose(skill: Skill) -> str:
    """What a skill is for: its kind and intents."""
    return " ".join((skill.kind, *sorted(skill.intents)))


def in_names_of(harness: Harness, words: str) -> str:
    """A variant as it stands in a harness: ``@operation`` in a code span is the tool that is bound to it.

    Raises:
        BadInput: no tool is.
    """

    def name(symbol: str) -> str:
        return harness.tool_for(symbol[1:]) if symbol.startswith("@") else symbol

    return rewrite_code_spans(words, name)


def misdescribed_tool(description: str, operation: str, domain: str) -> Iterator[str]:
    """A problem where the bank knows words for the operation and the description has none of them."""
    words = written("tool_descriptions", operation, domain).get("words")
    if words and not any(word in description.lower() for word in words):
        yield f"{description!r} does not say what {operation} does"


def misdescribed_skill(description: str, own: str, domain: str) -> Iterator[str]:
    """Problems where a description lacks the words of its own purpose, or has those of another that the bank knows."""
    for other, entry in bank("skill_descriptions").get(domain, {}).items():
        said = any(word in description.lower() for word in entry["words"])
        if said != (other == own):
            yield f"{description!r} {'also' if said else 'does not'} describe {other}"
