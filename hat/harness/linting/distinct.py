"""Tools and skills that a model cannot tell apart."""

import re
from collections.abc import Iterable
from pathlib import Path

from hat.harness.linting.subject import Subject
from hat.harness.problems import Problems

_SEPARATORS = re.compile(r"[\W_]+")


def check_distinct(subject: Subject, problems: Problems) -> None:
    """Same description, but for case and punctuation."""
    reading = subject.reading
    tools = ((e.tool.name, e.tool.description, e.path, e.source.line("description")) for e in reading.tools)
    skills = (
        (e.skill.name, e.skill.description, e.path, e.header.line("description")) for e in reading.skills
    )
    _note("tool", tools, problems)
    _note("skill", skills, problems)


def _note(kind: str, entries: Iterable[tuple[str, str, Path, int]], problems: Problems) -> None:
    seen: dict[str, str] = {}
    for name, description, path, line in entries:
        key = _SEPARATORS.sub(" ", description).strip().casefold()
        if key in seen:
            message = f"the {kind}s {seen[key]} and {name} have the same description"
            problems.add("indistinct", path, message, line)
        seen.setdefault(key, name)
