"""A quick sufficient test that a schema is valid: the slow meta-schema is asked about the rest only."""

from collections.abc import Callable, Mapping
from typing import Any

_TYPES = frozenset(("null", "boolean", "object", "array", "number", "string", "integer"))


def plainly_valid(schema: Any) -> bool:
    """True when the schema uses only common keywords in shapes that 2020-12 and draft-07 both accept.

    False says nothing: the schema may be valid in a less common way.
    """
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict):
        return False
    return all(key in _SHAPES and _SHAPES[key](value) for key, value in schema.items())


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _anything(_: Any) -> bool:
    return True


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value)) and len(set(value)) == len(value)


def _type(value: Any) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _names(value) and bool(value) and _TYPES.issuperset(value)


def _schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(plainly_valid, value))


def _named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(plainly_valid, value.values()))


_SHAPES: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("description", "title", "$comment", "format", "pattern", "$schema", "$ref"), _text),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count
    ),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly"), _truth),
    **dict.fromkeys(("const", "default"), _anything),
    **dict.fromkeys(("enum", "examples"), _list),
    **dict.fromkeys(("items", "additionalProperties", "not", "propertyNames", "contains"), plainly_valid),
    **dict.fromkeys(("if", "then", "else"), plainly_valid),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _schemas),
    **dict.fromkeys(("properties", "$defs", "definitions"), _named_schemas),
    "required": _names,
    "type": _type,
}
