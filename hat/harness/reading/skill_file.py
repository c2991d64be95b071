"""One ``skills/<id>/SKILL.md``: the public Agent Skills format, our own fields under ``metadata``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hat.harness.model import Skill
from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined
from hat.harness.reading.markdown import LinedDocument, parse_lined_document, split_front_matter
from hat.harness.reading.names import shown, skill_name_problem

_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500


@dataclass(frozen=True)
class SkillFile:
    """A skill and where its parts were written."""

    skill: Skill
    header: Lined
    body: LinedDocument
    path: Path


def parse_skill(text: str, path: Path, problems: Problems, *, named: bool = True) -> SkillFile | None:
    """The skill of a file; None when it is not one. If ``named``, the folder has the skill's name."""
    before = len(problems.errors)
    parts = split_front_matter(text, path, problems)
    if parts is None:
        return None
    header, body_text, body_line = parts
    value = header.value
    _check_name(value.get("name"), path.parent.name if named else None, header, path, problems)
    _check_texts(value, header, path, problems)
    for key in sorted(set(value) - set(_KEYS)):
        problems.add("skill-unknown-key", path, f"{shown(key)} is no key of a skill", header.line(key))
    kind, intents = _metadata(value.get("metadata"), header, path, problems)
    body = parse_lined_document(body_text, path, problems, body_line)
    if body is None or len(problems.errors) > before:
        return None
    skill = Skill(value["name"], value["description"].strip(), kind, intents, body.document)
    return SkillFile(skill, header, body, path)


def _check_name(name: Any, expected: str | None, header: Lined, path: Path, problems: Problems) -> None:
    if not isinstance(name, str):
        problems.add("skill-schema", path, "name is missing or not text", header.line("name"))
        return
    wrong = skill_name_problem(name)
    if wrong:
        problems.add("illegal-name", path, wrong, header.line("name"))
    elif expected is not None and name != expected:
        message = f"the name {shown(name)} differs from its folder's, {shown(expected)}"
        problems.add("skill-schema", path, message, header.line("name"))


def _check_texts(value: dict[str, Any], header: Lined, path: Path, problems: Problems) -> None:
    description = value.get("description")
    if not isinstance(description, str) or not description.strip():
        problems.add("skill-schema", path, "description is missing or not text", header.line("description"))
    elif len(description) > MAX_DESCRIPTION:
        message = f"description has {len(description)} characters, at most {MAX_DESCRIPTION} are allowed"
        problems.add("skill-schema", path, message, header.line("description"))
    compatibility = value.get("compatibility")
    if compatibility is not None and not (
        isinstance(compatibility, str) and len(compatibility) <= MAX_COMPATIBILITY
    ):
        message = f"compatibility is text of at most {MAX_COMPATIBILITY} characters"
        problems.add("skill-schema", path, message, header.line("compatibility"))


def _metadata(
    metadata: Any, header: Lined, path: Path, problems: Problems
) -> tuple[Literal["reply", "strategy"], tuple[str, ...]]:
    """The kind and the intents; intents are one text with spaces between, or a list."""
    if metadata is None:
        return "strategy", ()
    if not isinstance(metadata, dict):
        problems.add("skill-schema", path, "metadata is a mapping", header.line("metadata"))
        return "strategy", ()
    kind = metadata.get("kind", "strategy")
    if kind not in ("reply", "strategy"):
        message = f"metadata.kind is {kind!r}; it is reply or strategy"
        problems.add("skill-schema", path, message, header.line("metadata", "kind"))
        kind = "strategy"
    intents = metadata.get("intents")
    words = (
        intents
        if isinstance(intents, list)
        else (intents or "").split()
        if isinstance(intents, str | None)
        else None
    )
    if words is None or not all(isinstance(word, str) for word in words):
        message = "metadata.intents is a list of intents, or text with spaces between them"
        problems.add("skill-schema", path, message, header.line("metadata", "intents"))
        words = []
    return kind, tuple(words)
