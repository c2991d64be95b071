"""YAML read strictly: plain data, text keys, no key twice, no aliases or tags, bounded depth; with lines."""

import math
from pathlib import Path
from typing import Any

import yaml

from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined, has_lone_surrogate
from hat.harness.reading.lined import Path as Place

MAX_DEPTH = 64
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_AS_WRITTEN = (f"{_TAG}str", f"{_TAG}timestamp", f"{_TAG}value")
_CONSTRUCTED = (f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool", f"{_TAG}null")


def parse_yaml(text: str, file: Path, problems: Problems, first_line: int = 1) -> Lined | None:
    """The document, or None when it cannot be used; what is wrong is noted in ``problems``.

    Dates stay text. ``first_line`` is the line of the file on which ``text`` begins.
    """
    loader = None
    try:
        if not _shape_is_safe(text, file, problems, first_line):
            return None
        loader = _Loader(text)
        node = loader.get_single_node()
        reader = _Reader(loader, file, problems, first_line)
        value = None if node is None else reader.value(node, ())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + first_line if mark else first_line
        problems.add("yaml-syntax", file, _explained(error), line)
        return None
    finally:
        if loader is not None:
            loader.dispose()
    return Lined(value, reader.lines) if reader.usable else None


def _shape_is_safe(text: str, file: Path, problems: Problems, first_line: int) -> bool:
    """Walks the events, which needs no recursion, before anything is built from them."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = (event.start_mark.line if event.start_mark else 0) + first_line
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            problems.add("yaml-alias", file, "YAML anchors and aliases are not accepted", line)
            return False
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                problems.add("too-deep", file, f"nested deeper than {MAX_DEPTH} levels", line)
                return False
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return True


class _Reader:
    """Builds plain data from nodes, noting every problem on the way."""

    def __init__(self, loader: Any, file: Path, problems: Problems, first_line: int) -> None:
        self.loader, self.file, self.problems, self.first_line = loader, file, problems, first_line
        self.lines: dict[Place, int] = {}
        self.usable = True

    def value(self, node: yaml.Node, path: Place) -> Any:
        self.lines.setdefault(path, self._line(node))
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag in (*_AS_WRITTEN, *_CONSTRUCTED):
            return self._scalar(node)
        return self._refuse("yaml-tag", f"the tag {node.tag.removeprefix(_TAG)!r} is not accepted", node)

    def _mapping(self, node: yaml.MappingNode, path: Place) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag not in _AS_WRITTEN:
                self._refuse("yaml-key", "a key must be text: quote it", key_node)
                continue
            key = key_node.value
            if key in mapping:
                self._refuse("duplicate-key", f"the key {key!r} occurs twice in one mapping", key_node)
            self.lines[(*path, key)] = self._line(key_node)
            mapping[key] = self.value(value_node, (*path, key))
        return mapping

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag in _AS_WRITTEN:
            if has_lone_surrogate(node.value):
                return self._refuse("not-utf8", "an escape is half of a surrogate pair", node)
            return node.value
        try:
            value = self.loader.construct_object(node)
        except (ValueError, OverflowError, KeyError):
            return self._refuse("yaml-syntax", f"{node.value[:40]!r} is not a usable value: quote it", node)
        if isinstance(value, float) and not math.isfinite(value):
            return self._refuse("yaml-syntax", "infinite and NaN numbers are not accepted", node)
        return value

    def _refuse(self, rule: str, message: str, node: yaml.Node) -> None:
        self.usable = False
        self.problems.add(rule, self.file, message, self._line(node))

    def _line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + self.first_line


def _explained(error: yaml.YAMLError) -> str:
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    hint = ""
    if "mapping values are not allowed" in problem:
        hint = " (a value that contains ': ' needs quotes)"
    elif "\\t" in problem or "cannot start any token" in problem:
        hint = " (indent with spaces; quote a value that begins with a special character)"
    return f"not YAML: {problem}{hint}"
