"""Tools and skills that a model cannot tell apart."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path

from hat.harness.linting.subject import Subject
from hat.harness.problems import Problems
from hat.harness.reading.tool_file import ToolFile

_SEPARATORS = re.compile(r"[\W_]+")
ALIKE = 0.9
"""Share of words (Jaccard) from which descriptions of tools with the same arguments count as one."""
FEWEST_WORDS = 8
"""Below that, one differing word is a clear difference."""


def check_distinct(subject: Subject, problems: Problems) -> None:
    """Same description, but for case and punctuation; for tools with the same arguments, nearly the same."""
    reading = subject.reading
    tools = ((e.tool.name, e.tool.description, e.path, e.source.line("description")) for e in reading.tools)
    skills = (
        (e.skill.name, e.skill.description, e.path, e.header.line("description")) for e in reading.skills
    )
    _note("tool", tools, problems)
    _note("skill", skills, problems)
    _note_alike(reading.tools, problems)


def _note(kind: str, entries: Iterable[tuple[str, str, Path, int]], problems: Problems) -> None:
    seen: dict[str, str] = {}
    for name, description, path, line in entries:
        key = _key(description)
        if key in seen and key:
            message = f"the {kind}s {seen[key]} and {name} have the same description"
            problems.add("indistinct", path, message, line)
        seen.setdefault(key, name)


def _note_alike(tools: Iterable[ToolFile], problems: Problems) -> None:
    groups: dict[tuple[str, ...], list[tuple[ToolFile, str, frozenset[str]]]] = {}
    for entry in tools:
        arguments = tuple(sorted(entry.tool.input_schema.get("properties", {})))
        key = _key(entry.tool.description)
        groups.setdefault(arguments, []).append((entry, key, frozenset(key.split())))
    for group in groups.values():
        for i, j in alike_pairs([words for _, _, words in group]):
            (first, first_key, _), (second, second_key, _) = group[i], group[j]
            if first_key != second_key:
                message = f"the tools {first.tool.name} and {second.tool.name} are described in almost the same words"
                problems.add("indistinct", second.path, message, second.source.line("description"))


def alike_pairs(texts: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """Index pairs (i < j) of texts of at least `FEWEST_WORDS` words whose words are `ALIKE`, in order.

    Not every pair is compared: two such texts share at least ALIKE of the words of each, hence one of the
    rarest words of each (prefix filtering: Chaudhuri, Ganti and Kaushik, A Primitive Operator for Similarity
    Joins in Data Cleaning, 2006).
    """
    frequency = Counter(word for words in texts for word in words)
    by_rare_word: dict[str, list[int]] = {}
    pairs = set()
    for j, words in enumerate(texts):
        if len(words) < FEWEST_WORDS:
            continue
        rarest = sorted(words, key=lambda word: (frequency[word], word))
        for word in rarest[: len(words) - ceil(ALIKE * len(words)) + 1]:
            for i in by_rare_word.setdefault(word, []):
                if len(texts[i] & words) >= ALIKE * len(texts[i] | words):
                    pairs.add((i, j))
            by_rare_word[word].append(j)
    return sorted(pairs)


def _key(description: str) -> str:
    return _SEPARATORS.sub(" ", description).strip().casefold()
