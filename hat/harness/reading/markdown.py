"""Small Markdown documents (a title and items) and front matter, with the line of every item."""

import re
from dataclasses import dataclass
from pathlib import Path

from hat.harness.model import Document
from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined
from hat.harness.reading.strict_yaml import parse_yaml

_STRUCTURE = re.compile(r"^\s*(?:#{2,6} |```|~~~|\|.*\||\d+[.)] |> )")


@dataclass(frozen=True)
class LinedDocument:
    """A document and where it was written."""

    document: Document
    title_line: int
    item_lines: tuple[int, ...]

    def texts(self) -> tuple[tuple[str, int], ...]:
        """(text, line) of the title and of every item."""
        return (
            (self.document.title, self.title_line),
            *zip(self.document.items, self.item_lines, strict=True),
        )


def parse_lined_document(
    text: str, file: Path, problems: Problems, first_line: int = 1
) -> LinedDocument | None:
    """A document of one ``# title`` and its items (list entries and paragraphs); None without a title."""
    title, title_line = "", first_line
    items: list[str] = []
    lines: list[int] = []
    paragraph: list[str] = []
    structured = False
    for number, line in enumerate([*text.split("\n"), ""], start=first_line):
        stripped = line.strip()
        starts_item = stripped.startswith(("- ", "* "))
        is_heading = stripped.startswith("# ")
        if (not stripped or starts_item or is_heading) and paragraph:
            items.append(" ".join(paragraph))
            paragraph = []
        if _STRUCTURE.match(line) and not structured:
            structured = True
            message = "only a title, list entries and paragraphs are understood: this is kept as running text"
            problems.add("document-structure", file, message, number)
        if is_heading and not title:
            title, title_line = stripped[2:].strip(), number
            continue
        if stripped:
            if not paragraph:
                lines.append(number)
            paragraph.append(stripped[2:].strip() if starts_item else stripped)
    if not title:
        problems.add("document-title", file, "a document begins with a title, '# ...'", first_line)
        return None
    return LinedDocument(Document(title, tuple(items)), title_line, tuple(lines))


def split_front_matter(text: str, file: Path, problems: Problems) -> tuple[Lined, str, int] | None:
    """The front matter, the body after it and the body's first line; None without usable front matter."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        problems.add("front-matter", file, "no front matter: the first line must be ---")
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            header = parse_yaml("\n".join(lines[1:number]), file, problems, first_line=2)
            if header is None:
                return None
            if not isinstance(header.value, dict):
                problems.add("front-matter", file, "the front matter is not a mapping of keys to values", 2)
                return None
            return header, "\n".join(lines[number + 1 :]), number + 2
    problems.add("front-matter", file, "the front matter is not closed by a line ---")
    return None
