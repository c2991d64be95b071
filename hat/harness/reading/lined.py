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


def has_lone_surrogate(value: Any) -> bool:
    """True when some text in the value cannot be written as UTF-8 (half of an escaped surrogate pair)."""
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return any(has_lone_surrogate(key) or has_lone_surrogate(item) for key, item in value.items())
    return isinstance(value, list) and any(map(has_lone_surrogate, value))
