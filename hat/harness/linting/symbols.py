"""References in text: a code span must name a tool, an argument or a skill; other mentions are pinned."""

import difflib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hat.harness.linting.subject import Subject
from hat.harness.linting.texts import ModelText, model_texts
from hat.harness.model import Harness
from hat.harness.problems import Problems
from hat.harness.reading.names import shown
from hat.harness.reading.schemas import subschemas
from hat.harness.symbols import code_spans, rewrite_code_spans

_IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_COMPOUND = re.compile(r"[a-z0-9][_-][A-Za-z0-9]|[a-z][A-Z]")
_WORD = re.compile(
    r"(?<![A-Za-z0-9_.-])[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*(?:\.[a-z][A-Za-z0-9_]*)?(?![A-Za-z0-9_-])"
)


@dataclass(frozen=True)
class Symbols:
    """The names of one version."""

    tools: frozenset[str]
    skills: frozenset[str]
    arguments: frozenset[str]
    qualified: frozenset[str]
    """``tool.argument``."""
    values: frozenset[str]
    """Values that schemas list: words a text may quote."""

    @cached_property
    def references(self) -> frozenset[str]:
        return self.tools | self.skills | self.arguments | self.qualified


def symbols_of(subject: Subject) -> Symbols:
    """The names that a text of this version may refer to."""
    arguments: set[str] = set()
    qualified: set[str] = set()
    values: set[str] = set()
    for entry in subject.reading.tools:
        for argument in entry.tool.input_schema.get("properties", {}):
            arguments.add(argument)
            qualified.add(f"{entry.tool.name}.{argument}")
        for _, schema in subschemas(entry.tool.input_schema):
            enum = schema.get("enum")
            values.update(str(value) for value in (enum if isinstance(enum, list) else []))
            values.update(str(schema[key]) for key in ("const", "default") if key in schema)
    skills = frozenset(entry.skill.name for entry in subject.reading.skills)
    return Symbols(subject.tool_names, skills, frozenset(arguments), frozenset(qualified), frozenset(values))


def check_symbols(subject: Subject, problems: Problems) -> None:
    """Unknown references, names in running text, and names with two meanings."""
    symbols = symbols_of(subject)
    _check_ambiguous(subject, symbols, problems)
    former = _names(subject.parent) - symbols.references if subject.parent else frozenset()
    compound = frozenset(name for name in symbols.references if _COMPOUND.search(name))
    # Imported texts put many things into code spans that are no names of this harness.
    strict = subject.terms is None or subject.terms.operations is not None
    for text in model_texts(subject):
        if subject.complete:
            for _, content in code_spans(text.text):
                _check_reference(content, text, symbols, former, problems, strict)
        _check_running(text, compound, symbols, problems)


def _check_reference(
    content: str, text: ModelText, symbols: Symbols, former: frozenset[str], problems: Problems, strict: bool
) -> None:
    if content in symbols.references or content in symbols.values or not _IDENTIFIER.fullmatch(content):
        return
    # Looking for the nearest of thousands of names takes time: only where the message says it.
    near = _nearest(content, symbols.references) if strict or content in former else ""
    hint = f"; did you mean `{near}`?" if near else ""
    if content in former:
        message = f"`{content}` was a name in the parent version and is none here{hint}"
        problems.add("unknown-symbol", text.file, message, text.line)
    elif strict and (near or _COMPOUND.search(content) or content.partition(".")[0] in symbols.tools):
        message = f"`{content}` is no tool, argument or skill of this version{hint}"
        problems.add("unknown-symbol", text.file, message, text.line)
    else:
        problems.add("unknown-word", text.file, f"`{content}` is no tool, argument or skill", text.line)


@lru_cache(maxsize=1024)
def _nearest(name: str, known: frozenset[str]) -> str:
    """The most similar known name; empty when none is similar."""
    return next(iter(difflib.get_close_matches(name, _ordered(known), n=1, cutoff=0.6)), "")


@lru_cache(maxsize=16)
def _ordered(names: frozenset[str]) -> list[str]:
    return sorted(names)


def _check_running(text: ModelText, compound: frozenset[str], symbols: Symbols, problems: Problems) -> None:
    running = rewrite_code_spans(text.text, lambda _: "") if text.renames else text.text
    for match in _WORD.finditer(running):
        if match.group() in compound:
            where = "in running text" if text.renames else "where renames do not reach"
            message = f"{match.group()} stands {where}: it is pinned, no rename follows it"
            problems.add("pinned-symbol", text.file, message, text.line)
    if not text.renames:
        for _, content in code_spans(text.text):
            if content in symbols.references and content not in compound:
                message = f"`{content}` stands where renames do not reach: it is pinned"
                problems.add("pinned-symbol", text.file, message, text.line)


def _check_ambiguous(subject: Subject, symbols: Symbols, problems: Problems) -> None:
    kinds = {"tool": symbols.tools, "skill": symbols.skills, "argument": symbols.arguments}
    for first, second in (("tool", "skill"), ("tool", "argument"), ("skill", "argument")):
        for name in sorted(kinds[first] & kinds[second]):
            message = f"{shown(name)} is both a {first} and {_with_article(second)}"
            problems.add("ambiguous-symbol", subject.manifest_path, message, subject.line("bindings", name))
    folded: dict[str, str] = {}
    for name in sorted(symbols.tools):
        other = folded.setdefault(name.casefold().replace("-", "_"), name)
        if other != name:
            message = f"{shown(other)} and {shown(name)} differ only in case or hyphens"
            problems.add("ambiguous-symbol", subject.manifest_path, message, subject.line("bindings", name))


def _names(harness: Harness) -> frozenset[str]:
    arguments = {name for tool in harness.tools for name in tool.input_schema.get("properties", {})}
    return frozenset({*(t.name for t in harness.tools), *(s.name for s in harness.skills), *arguments})


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
