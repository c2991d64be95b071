"""Reading numbers, texts and mappings out of documents that may hold anything."""

import math
from collections.abc import Mapping
from typing import Any


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, empty where the value is none."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """The items of a list; nothing where the value is no list."""
    return list(value) if isinstance(value, (list, tuple)) else []


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list; nothing where the value is no list."""
    return [item for item in items(value) if isinstance(item, Mapping)]


def text(value: Any) -> str:
    """A text; empty for None."""
    return "" if value is None else str(value)
