"""A parsed value that still knows on which line each of its parts stood."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Lined:
    """``value`` is plain data (dict, list, str, int, float, bool, None)."""

    value: Any
    lines: Mapping[Path, int] = field(default_factory=dict)
    """Path of keys and indices to the line of the key or item, counted from 1."""

    def line(self, *path: str | int) -> int:
        """The line of the part at ``path``, or of the nearest part around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1

    def part(self, *path: str | int) -> "Lined":
        """The part at ``path`` as a value of its own."""
        value = self.value
        for key in path:
            value = value[key]
        size = len(path)
        lines = {place[size:]: line for place, line in self.lines.items() if place[:size] == path}
        return Lined(value, lines)

    def parts(self, *path: str | int) -> "list[Lined]":
        """Each item of the list at ``path``; in one pass, so that a long list is not read once for each item."""
        items = self.value
        for key in path:
            items = items[key]
        size = len(path)
        lines: list[dict[Path, int]] = [{} for _ in items]
        for place, line in self.lines.items():
            if len(place) > size and place[:size] == path:
                lines[int(place[size])][place[size + 1 :]] = line
        return [Lined(item, known) for item, known in zip(items, lines, strict=True)]


def has_lone_surrogate(value: Any) -> bool:
    """True when some text in the value cannot be written as UTF-8 (half of an escaped surrogate pair)."""
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return any(has_lone_surrogate(key) or has_lone_surrogate(item) for key, item in value.items())
    return isinstance(value, list) and any(map(has_lone_surrogate, value))
