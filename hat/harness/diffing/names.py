"""Which tool, argument and skill of one version is which of another; texts with those renames followed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hat.files import canonical_json
from hat.harness.diffing.matching import Matching, match, shared_words, untagged
from hat.harness.model import Document, Harness, Skill, Tool
from hat.harness.symbols import rewrite_code_spans

SAME = 0.5
"""Share of words from which two parts of different names count as one part renamed."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of a pair of tools."""

    matching: Matching[str]

    @property
    def renamed(self) -> dict[str, str]:
        return dict(self.matching.pairs)


@dataclass(frozen=True)
class Names:
    """The pairing of two versions' names."""

    before: Harness
    after: Harness
    tools: Matching[Tool]
    skills: Matching[Skill]
    arguments: dict[str, Arguments]
    """By the earlier tool's name."""

    @cached_property
    def symbols(self) -> dict[str, str]:
        """Earlier symbol to later one, for code spans; without arguments that tools rename differently."""
        names: dict[str, str] = {}
        shown: dict[str, set[str]] = {}
        for old, new in self.tools.pairs:
            for first, second in self.arguments[old.name].matching.pairs:
                names[f"{old.name}.{first}"] = f"{new.name}.{second}"
                shown.setdefault(first, set()).add(second)
        names.update({first: next(iter(seconds)) for first, seconds in shown.items() if len(seconds) == 1})
        names.update({old.name: new.name for old, new in self.skills.pairs})
        names.update({old.name: new.name for old, new in self.tools.pairs})
        return names

    def follow(self, text: str) -> str:
        """An earlier text with its references renamed, so that only real rewording is left to see."""
        return rewrite_code_spans(text, lambda symbol: self.symbols.get(symbol, symbol))

    def follow_document(self, document: Document) -> Document:
        return Document(document.title, tuple(map(self.follow, document.items)))


def match_names(before: Harness, after: Harness) -> Names:
    """Tools are paired by operation, then by name, then by content; skills by content, then by name."""
    # Tools are tagged with their side: what one is bound to is known to its version only.
    tagged: Matching[tuple[Harness, Tool]] = match(
        [(before, tool) for tool in before.tools],
        [(after, tool) for tool in after.tools],
        keys=(lambda entry: entry[0].binding(entry[1].name).operation, lambda entry: entry[1].name),
        similarity=lambda left, right: _tool_similarity(left[1], right[1]),
        threshold=SAME,
    )
    tools = untagged(tagged)
    arguments = {old.name: _match_arguments(before, old, after, new) for old, new in tools.pairs}
    skills = match(
        before.skills,
        after.skills,
        keys=(_skill_content, lambda skill: skill.name),
        similarity=_skill_similarity,
        threshold=SAME,
    )
    return Names(before, after, tools, skills, arguments)


def _match_arguments(before: Harness, old: Tool, after: Harness, new: Tool) -> Arguments:
    first, second = (tool.input_schema.get("properties", {}) for tool in (old, new))
    targets = [dict(harness.binding(tool.name).arguments) for harness, tool in ((before, old), (after, new))]
    # The same argument name may stand on both sides, so each is tagged with its side.
    tagged: Matching[tuple[int, str]] = match(
        [(0, name) for name in first],
        [(1, name) for name in second],
        keys=(lambda entry: targets[entry[0]].get(entry[1]), lambda entry: entry[1]),
        similarity=lambda left, right: _schema_similarity(first[left[1]], second[right[1]]),
        threshold=SAME,
    )
    return Arguments(untagged(tagged))


def _tool_similarity(old: Tool, new: Tool) -> float:
    same_arguments = _shapes(old.input_schema) == _shapes(new.input_schema)
    return 0.6 * shared_words(old.description, new.description) + 0.4 * same_arguments


def _shapes(schema: dict[str, Any]) -> list[str]:
    properties = schema.get("properties", {})
    return sorted(canonical_json(without_description(value)) for value in properties.values())


def _schema_similarity(first: Any, second: Any) -> float:
    same = canonical_json(without_description(first)) == canonical_json(without_description(second))
    texts = [value.get("description", "") if isinstance(value, dict) else "" for value in (first, second)]
    return 0.5 * same + 0.5 * shared_words(*texts)


def without_description(schema: Any) -> Any:
    """A schema without its own description: what decides which values are valid."""
    return (
        {key: value for key, value in schema.items() if key != "description"}
        if isinstance(schema, dict)
        else schema
    )


def _skill_content(skill: Skill) -> tuple[Any, ...] | None:
    return (skill.kind, skill.intents, skill.body) if skill.body.items else None


def _skill_similarity(old: Skill, new: Skill) -> float:
    body = shared_words(" ".join(old.body.items), " ".join(new.body.items))
    same_role = (old.kind, old.intents) == (new.kind, new.intents)
    return 0.5 * body + 0.3 * shared_words(old.description, new.description) + 0.2 * same_role
