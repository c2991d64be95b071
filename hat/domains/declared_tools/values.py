"""Arguments that satisfy a tool's JSON Schema: references, unions and recursion followed, the result validated."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from hat.domains.base import Split
from hat.harness.reading.schemas import DRAFTS, resolve_reference

WORDS: Mapping[Split, tuple[str, ...]] = {
    "train": ("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "island", "juniper"),
    "dev": ("kelp", "lagoon", "meadow", "nickel", "orchard", "pebble", "quartz", "ridge", "saddle", "tundra"),
    "test": (
        "umber",
        "valley",
        "willow",
        "yarrow",
        "zephyr",
        "anchor",
        "breeze",
        "canyon",
        "dune",
        "estuary",
    ),
}
"""What texts are made of; each split has its own."""
DEEPEST = 6
LARGEST = 10_000
"""Characters or items beyond which no value is made: what a schema asks for is its writer's choice."""
ATTEMPTS = 24
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_OBJECT_KEYS = ("properties", "required", "additionalProperties", "patternProperties")
_ARRAY_KEYS = ("items", "prefixItems", "minItems", "maxItems")


class CannotSample(Exception):
    """No value could be found that the schema accepts."""


def sample_valid(schema: Mapping[str, Any], rng: random.Random, split: Split) -> dict[str, Any]:
    """An object that the schema accepts; later attempts leave optional properties out.

    Raises:
        CannotSample: none was found.
    """
    from jsonschema import Draft7Validator, Draft202012Validator

    draft = DRAFTS.get(str(schema.get("$schema", "")).rstrip("#"), "2020-12")
    validator = (Draft7Validator if draft == "draft-07" else Draft202012Validator)(dict(schema))
    for attempt in range(ATTEMPTS):
        sampler = _Sampler(schema, rng, WORDS[split], optional=0.4 if attempt < ATTEMPTS // 2 else 0.0)
        try:
            value = sampler.value(schema, 0)
            if isinstance(value, dict) and validator.is_valid(value):
                return value
        except (CannotSample, RecursionError):
            continue
    raise CannotSample


class _Sampler:
    def __init__(
        self, root: Mapping[str, Any], rng: random.Random, words: tuple[str, ...], optional: float
    ) -> None:
        self.root, self.rng, self.words, self.optional = root, rng, words, optional

    def value(self, schema: Any, depth: int) -> Any:
        if schema is True:
            return self.rng.choice(self.words)
        if not isinstance(schema, Mapping) or depth > 4 * DEEPEST:
            raise CannotSample
        schema = self._flat(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.rng.choice(schema["enum"])
        kind = self._kind(schema, depth)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return self._number(schema, kind)
        if kind == "boolean":
            return self.rng.random() < 0.5
        return None if kind == "null" else self._text(schema)

    def _flat(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with one choice of each union made, and references and conjunctions merged in."""
        for _ in range(32):
            if isinstance(schema.get("$ref"), str):
                target = resolve_reference(self.root, schema["$ref"])
                rest = {key: value for key, value in schema.items() if key != "$ref"}
                schema = _merged(self._mapping(target), rest)
            elif schema.get("allOf"):
                rest = {key: value for key, value in schema.items() if key != "allOf"}
                for part in schema["allOf"]:
                    rest = _merged(rest, self._flat(self._mapping(part)))
                schema = rest
            elif union := next((key for key in ("anyOf", "oneOf") if schema.get(key)), None):
                rest = {key: value for key, value in schema.items() if key != union}
                schema = _merged(rest, self._mapping(self.rng.choice(schema[union])))
            else:
                return schema
        raise CannotSample

    def _mapping(self, schema: Any) -> Mapping[str, Any]:
        if schema is True:
            return {}
        if isinstance(schema, Mapping):
            return schema
        raise CannotSample

    def _kind(self, schema: Mapping[str, Any], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            plain = [name for name in kind if name not in ("null", "object", "array")]
            # Deep down, whatever ends the recursion soonest.
            return str(self.rng.choice(plain or kind if depth >= DEEPEST else kind))
        if kind in _TYPES:
            return str(kind)
        if any(key in schema for key in _OBJECT_KEYS):
            return "object"
        if any(key in schema for key in _ARRAY_KEYS):
            return "array"
        return "number" if {"minimum", "maximum"} & set(schema) else "string"

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = list(schema.get("required", ()))
        value: dict[str, Any] = {}
        chance = self.optional if depth < DEEPEST // 2 else 0.0
        for name, inner in properties.items():
            if name in required or self.rng.random() < chance:
                value[name] = self.value(inner, depth + 1)
        others = schema.get("additionalProperties", True)
        for name in required:
            if name not in value:
                value[name] = self.value(others, depth + 1)
        for name in self.words[: max(0, int(schema.get("minProperties", 0)) - len(value))]:
            value[name] = self.value(others, depth + 1)
        return value

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = _bounded(schema.get("minItems", 0))
        most = int(schema.get("maxItems", least + 2))
        size = least if depth >= DEEPEST else self.rng.randint(least, max(least, min(most, least + 2)))
        first = schema.get("prefixItems", [])
        items = schema.get("items", True)
        if isinstance(items, list):
            # Draft-07 writes what 2020-12 calls prefixItems.
            first, items = items, schema.get("additionalItems", True)
        size = max(size, 0 if least == 0 else len(first))
        kinds = [*first, *([items] * size)][:size]
        return [self.value(kind, depth + 1) for kind in kinds]

    def _number(self, schema: Mapping[str, Any], kind: str) -> int | float:
        step = schema.get("multipleOf", 1)
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        low = (0 if high is None else min(0, high - 100)) if low is None else low
        high = max(low + 100, 100) if high is None else high
        if not isinstance(step, int) or step < 1:
            return float(step) * self.rng.randint(1, 9)
        first, last = -(-int(low) // step), int(high) // step
        first += "exclusiveMinimum" in schema
        last -= "exclusiveMaximum" in schema
        if first > last:
            return float(low) + (float(high) - float(low)) / 2 if kind == "number" else int(low)
        return self.rng.randint(first, last) * step

    def _text(self, schema: Mapping[str, Any]) -> str:
        word = self.rng.choice(self.words)
        day = f"2026-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"
        digits = f"{self.rng.randrange(16**12):012x}"
        by_format = {
            "date": day,
            "date-time": f"{day}T09:30:00Z",
            "time": "09:30:00Z",
            "email": f"{word}@example.org",
            "uri": f"https://example.org/{word}",
            "uuid": f"00000000-0000-4000-8000-{digits}",
            "ipv4": "192.0.2.7",
            "hostname": f"{word}.example.org",
        }
        fitting = by_format.get(str(schema.get("format")), f"{word} {self.rng.choice(self.words)}")
        if "pattern" in schema:
            fitting = _matching(
                str(schema["pattern"]), [word, *by_format.values(), digits, f"{word}/{word}", "7"]
            )
        least, most = _bounded(schema.get("minLength", 0)), schema.get("maxLength")
        fitting = fitting.ljust(least, "a")
        return fitting if most is None else fitting[: int(most)]


def _bounded(least: Any) -> int:
    if int(least) > LARGEST:
        raise CannotSample
    return int(least)


def _matching(pattern: str, candidates: list[str]) -> str:
    try:
        return next(text for text in candidates if re.search(pattern, text))
    except (StopIteration, re.error):
        raise CannotSample from None


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas at once, as far as a sample needs it: what does not fit is found by validating."""
    merged = {**first, **second}
    if "properties" in first and "properties" in second:
        merged["properties"] = {**first["properties"], **second["properties"]}
    if "required" in first and "required" in second:
        merged["required"] = [*first["required"], *second["required"]]
    return merged
