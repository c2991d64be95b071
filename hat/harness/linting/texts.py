"""Every text of a version that a model reads: where it stands and whether its symbols are references."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hat.harness.linting.subject import Subject
from hat.harness.reading.schemas import subschemas


@dataclass(frozen=True)
class ModelText:
    """One text the model reads."""

    text: str
    file: Path
    line: int
    renames: bool
    """True where a rename follows code spans."""
    filled: bool = False
    """True where session values are filled in."""


def model_texts(subject: Subject) -> Iterator[ModelText]:
    """Prompt blocks, skills, tools and hook messages, in that order."""
    reading = subject.reading
    for name, block in reading.blocks:
        path = reading.folder / "prompts" / f"{name}.md"
        yield ModelText(block.document.title, path, block.title_line, renames=False)
        for item, line in zip(block.document.items, block.item_lines, strict=True):
            yield ModelText(item, path, line, renames=True, filled=True)
    for skill in reading.skills:
        line = skill.header.line("description")
        yield ModelText(skill.skill.description, skill.path, line, renames=True, filled=True)
        yield ModelText(skill.body.document.title, skill.path, skill.body.title_line, renames=False)
        for item, line in zip(skill.body.document.items, skill.body.item_lines, strict=True):
            yield ModelText(item, skill.path, line, renames=True)
    for tool in reading.tools:
        yield ModelText(tool.tool.description, tool.path, tool.source.line("description"), renames=True)
        for place, schema in subschemas(tool.tool.input_schema):
            if isinstance(schema.get("description"), str):
                line = tool.source.line("inputSchema", *place, "description")
                yield ModelText(schema["description"], tool.path, line, renames=False)
    for hook in reading.hooks.checks:
        yield ModelText(hook.hook.message, hook.path, hook.line, renames=True)
