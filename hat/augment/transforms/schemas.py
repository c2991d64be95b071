"""Which input schemas a transform understands well enough to change; all others are left exactly as they are."""

from collections.abc import Mapping
from typing import Any

from hat.harness.reading.schemas import subschemas

_UNSUPPORTED = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
    *("dependencies", "patternProperties", "propertyNames", "unevaluatedProperties"),
    *("minProperties", "maxProperties", "$ref", "$dynamicRef", "$id"),
)
_PLAIN_OBJECT = {
    "type", "properties", "required", "additionalProperties", "description", "title", "$schema",
}  # fmt: skip


def unsupported(schema: Mapping[str, Any]) -> str:
    """Why the arguments of this schema cannot be renamed or laid out anew; empty where they can.

    Beside the constructs that name arguments a second time, a reference to a place among the arguments is one: it
    would lead nowhere, and a recursive one would mean another schema.
    """
    if schema.get("type") != "object":
        return f"its type is {schema.get('type', 'not given')!r}, not 'object'"
    for key in _UNSUPPORTED:
        if key in schema:
            return f"it uses {key}"
    for _, inner in subschemas(dict(schema)):
        for key in ("$ref", "$dynamicRef"):
            reference = str(inner.get(key, "#/$defs/"))
            if not reference.startswith(("#/$defs/", "#/definitions/")):
                return f"it uses {key} to {reference!r}"
    return ""


def is_plain_object(schema: Any) -> bool:
    """Whether a value's schema is an object of listed properties and nothing more."""
    return (
        isinstance(schema, Mapping)
        and schema.get("type") == "object"
        and bool(schema.get("properties"))
        and set(schema) <= _PLAIN_OBJECT
        and schema.get("additionalProperties") is False
    )


def enum_of_texts(schema: Any) -> list[str]:
    """The values of an enum of different texts; empty where the value is anything else."""
    if not isinstance(schema, Mapping) or not set(schema) <= {
        "type",
        "enum",
        "default",
        "description",
        "title",
    }:
        return []
    values = schema.get("enum", [])
    if schema.get("type", "string") != "string" or not all(isinstance(value, str) for value in values):
        return []
    return list(values) if len(set(values)) == len(values) else []
