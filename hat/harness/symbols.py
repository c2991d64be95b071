"""References to tools, arguments and skills inside text: Markdown code spans that hold exactly a symbol."""

import re
from collections.abc import Callable, Iterator

_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def code_spans(text: str) -> Iterator[tuple[int, str]]:
    """(offset, content) of each single-backtick code span."""
    if "`" not in text:
        return
    for match in _CODE_SPAN.finditer(text):
        yield match.start(1), match.group(1)


def rewrite_code_spans(text: str, rename: Callable[[str], str]) -> str:
    """The text with each code span's content passed through ``rename``; all else is kept byte for byte."""
    if "`" not in text:
        return text
    return _CODE_SPAN.sub(lambda match: f"`{rename(match.group(1))}`", text)
