"""Arguments drawn from a JSON Schema, for checks that must hold for any valid call."""

import random
from collections.abc import Mapping
from typing import Any

_CHARACTERS = "abc XYZ019_-.,:;{}[]\"'\\/`<>\n蜂蜜é\u200b"


def sample_arguments(schema: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Values for all required and about half of the optional properties of an object schema."""
    required = set(schema.get("required", ()))
    return {
        name: sample_value(value, rng)
        for name, value in schema.get("properties", {}).items()
        if name in required or rng.random() < 0.5
    }


def sample_value(schema: Mapping[str, Any] | bool, rng: random.Random) -> Any:
    """One value of the schema's type. Awkward strings are drawn on purpose: quotes, braces, tags, line ends."""
    if isinstance(schema, bool):
        return None
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        return sample_arguments(schema, rng)
    if kind == "array":
        return [sample_value(schema.get("items", {}), rng) for _ in range(rng.randrange(3))]
    scalars: dict[str, Any] = {
        "integer": rng.randrange(-(10**6), 10**6),
        "number": rng.randrange(-(10**6), 10**6) / 8,
        "boolean": rng.random() < 0.5,
        "null": None,
    }
    if kind in scalars:
        return scalars[kind]
    return "".join(rng.choices(_CHARACTERS, k=rng.randint(max(1, schema.get("minLength", 0)), 24)))
