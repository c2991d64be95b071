"""JSON read strictly: no key twice, no NaN, no half characters, bounded depth; with the line of each part."""

import json
import re
from pathlib import Path
from typing import Any

from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined, has_lone_surrogate
from hat.harness.reading.lined import Path as Place

MAX_DEPTH = 64
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|\n')
# The closing quote is optional: this runs on text that may be malformed, and must stay linear there.
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)


def parse_json(text: str, file: Path, problems: Problems) -> Lined | None:
    """The document, or None when it cannot be used; what is wrong is noted in ``problems``."""
    deep_line = _line_too_deep(text)
    if deep_line:
        problems.add("too-deep", file, f"nested deeper than {MAX_DEPTH} levels", deep_line)
        return None
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        problems.add("json-syntax", file, f"not JSON: {error.msg}", error.lineno)
        return None
    except ValueError as error:
        problems.add("json-syntax", file, f"not JSON: {error}")
        return None
    if "\\u" in text and has_lone_surrogate(value):
        problems.add("not-utf8", file, "a \\u escape is half of a surrogate pair")
        return None
    lines, twice = _positions(text)
    for key, line in twice:
        problems.add("duplicate-key", file, f"the key {key!r} occurs twice in one object", line)
    return None if twice else Lined(value, lines)


def _line_too_deep(text: str) -> int:
    """The line where the nesting gets too deep; 0 when it does not. Counts before any recursive parsing."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        token = match.group()
        if token in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return text.count("\n", 0, match.start()) + 1
        elif token in "}]":
            depth -= 1
    return 0


def _positions(text: str) -> tuple[dict[Place, int], list[tuple[str, int]]]:
    """Lines by path, and the keys that occur twice with their lines. ``text`` is valid JSON."""
    lines: dict[Place, int] = {}
    twice: list[tuple[str, int]] = []
    path: list[str | int] = []
    kinds: list[str] = []
    line = 1
    awaiting_key = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token in "}]":
            kinds.pop()
            path.pop()
            awaiting_key = False
        elif token == ",":
            awaiting_key = kinds[-1] == "{"
            if kinds[-1] == "[":
                path[-1] = int(path[-1]) + 1
        elif token == ":":
            continue
        elif awaiting_key and token != "{":
            key = json.loads(token)
            path[-1] = key
            if tuple(path) in lines:
                twice.append((key, line))
            lines[tuple(path)] = line
            awaiting_key = False
        else:
            lines.setdefault(tuple(path), line)
            if token in "{[":
                kinds.append(token)
                path.append(0 if token == "[" else "")
                awaiting_key = token == "{"
    return lines, twice


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return value
