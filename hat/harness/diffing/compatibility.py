"""Which calls that one JSON Schema accepted another one refuses: found by comparing keywords, never by guessing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hat.files import canonical_json
from hat.harness.reading.schemas import resolve_reference

_LOWEST = {
    "minimum": "below", "exclusiveMinimum": "down to", "minLength": "shorter than", "minItems": "fewer than",
    "minProperties": "fewer than",
}  # fmt: skip
_HIGHEST = {
    "maximum": "above", "exclusiveMaximum": "up to", "maxLength": "longer than", "maxItems": "more than",
    "maxProperties": "more than",
}  # fmt: skip
_SAME = ("pattern", "format", "multipleOf", "uniqueItems", "contentEncoding", "contentMediaType")
_CONDITIONS = (
    "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "contains", "prefixItems",
    "propertyNames", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems", "$dynamicRef",
)  # fmt: skip
_UNIONS = ("anyOf", "oneOf")
_ANNOTATIONS = frozenset(
    (
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$schema",
        "$id",
    )
)
_DEEPEST = 24


@dataclass(frozen=True)
class Narrowing:
    """One way in which fewer calls are accepted."""

    argument: str
    """The argument at the root that it is about; empty where it is about the call as a whole."""
    text: str


def narrowings(
    before: Mapping[str, Any], after: Mapping[str, Any], renamed: Mapping[str, str]
) -> list[Narrowing]:
    """What calls valid under ``before`` are refused for under ``after``; ``renamed`` maps earlier argument names.

    Unions and conditions are compared as far as their parts are equal or one contains the other; where that does not
    decide it, the change is reported, so an empty list means that every earlier call, arguments renamed, still holds.
    """
    followed = dict(before)
    if isinstance(before.get("properties"), dict):
        followed["properties"] = {renamed.get(k, k): v for k, v in before["properties"].items()}
    if isinstance(before.get("required"), list):
        followed["required"] = [renamed.get(name, name) for name in before["required"]]
    comparison = _Comparison(followed, after)
    found = [
        Narrowing(place[0] if place else "", text) for place, text in comparison.schemas(followed, after, ())
    ]
    return list(dict.fromkeys(found))


Place = tuple[str, ...]


class _Comparison:
    def __init__(self, old_root: Mapping[str, Any], new_root: Mapping[str, Any]) -> None:
        self._old_root, self._new_root = old_root, new_root
        self._open: set[tuple[str, str]] = set()

    def schemas(self, old: Any, new: Any, place: Place) -> Iterator[tuple[Place, str]]:
        """What ``new`` refuses of what ``old`` accepts."""
        old, new = self._resolved(old, self._old_root), self._resolved(new, self._new_root)
        if new is True or old is False or _plain(new) == {}:
            return
        if new is False:
            yield place, "nothing is valid any more"
            return
        old = {} if old is True else old
        if not isinstance(old, Mapping) or not isinstance(new, Mapping):
            return
        pair = (canonical_json(_plain(old)), canonical_json(_plain(new)))
        same_roots = "$ref" not in pair[0] or self._same_definitions()
        if (pair[0] == pair[1] and same_roots) or pair in self._open or len(place) > _DEEPEST:
            return
        self._open.add(pair)
        yield from self._values(old, new, place)
        yield from self._bounds(old, new, place)
        yield from self._object(old, new, place)
        if "items" in new and isinstance(new["items"], Mapping | bool):
            yield from self.schemas(old.get("items", True), new["items"], (*place, "[]"))
        yield from self._unions(old, new, place)
        self._open.discard(pair)

    def _accepts_all(self, old: Any, new: Any) -> bool:
        return next(iter(self.schemas(old, new, ())), None) is None

    def _values(
        self, old: Mapping[str, Any], new: Mapping[str, Any], place: Place
    ) -> Iterator[tuple[Place, str]]:
        was, now = self._types_of(old), _types(new)
        if now is not None:
            lost = sorted((was or _ALL) - now - ({"integer"} if "number" in now else set()))
            if was is None and _values_of(old) is None and set(old) & set(_UNIONS):
                lost = []  # The union's parts say which types there were; each is compared on its own.
            if lost and _values_of(old) is None:
                yield place, f"values of type {', '.join(lost)} are refused now"
        values, known = _values_of(new), _values_of(old)
        if values is not None:
            if known is None:
                yield place, f"only {_listed(values)} are accepted now"
            else:
                gone = [
                    value for value in known if canonical_json(value) not in set(map(canonical_json, values))
                ]
                if gone:
                    yield place, f"{_listed(gone)} {'is' if len(gone) == 1 else 'are'} refused now"
        elif known is not None and now is not None:
            refused = [value for value in known if _type_of(value) not in now | _widened(now)]
            if refused:
                yield place, f"{_listed(refused)} {'is' if len(refused) == 1 else 'are'} refused now"

    def _bounds(
        self, old: Mapping[str, Any], new: Mapping[str, Any], place: Place
    ) -> Iterator[tuple[Place, str]]:
        for key, words in _LOWEST.items():
            # Counts are never below zero, so a least count of zero refuses nothing.
            pointless = key.startswith("min") and key != "minimum" and new.get(key) == 0
            if (
                _number(new.get(key))
                and not (_number(old.get(key)) and old[key] >= new[key])
                and not pointless
            ):
                yield place, f"{words} {new[key]} is refused now ({key})"
        for key, words in _HIGHEST.items():
            if _number(new.get(key)) and not (_number(old.get(key)) and old[key] <= new[key]):
                yield place, f"{words} {new[key]} is refused now ({key})"
        for key in _SAME:
            if key in new and new[key] not in (False, old.get(key)):
                yield place, f"{key} must be {new[key]!r} now"
        for key in _CONDITIONS:
            if key in new and canonical_json(_plain(old.get(key))) != canonical_json(_plain(new[key])):
                yield place, f"the condition {key} is another one: calls may be refused now"

    def _object(
        self, old: Mapping[str, Any], new: Mapping[str, Any], place: Place
    ) -> Iterator[tuple[Place, str]]:
        first, second = old.get("properties", {}), new.get("properties", {})
        others, were = new.get("additionalProperties", True), old.get("additionalProperties", True)
        for name in new.get("required", []):
            if name not in old.get("required", []):
                yield (*place, name), "calls without it are refused now: it is required"
        for name, schema in first.items():
            if name in second:
                yield from self.schemas(schema, second[name], (*place, name))
            elif others is False:
                yield (*place, name), "calls with it are refused now: it is no argument any more"
            else:
                yield from self.schemas(schema, others, (*place, name))
        if others is False and were is not False:
            yield place, "names that are not declared are refused now (additionalProperties)"
        elif isinstance(others, Mapping) and were is not False:
            yield from self.schemas(were, others, (*place, "*"))

    def _unions(
        self, old: Mapping[str, Any], new: Mapping[str, Any], place: Place
    ) -> Iterator[tuple[Place, str]]:
        for part in new.get("allOf", []):
            yield from self.schemas(old, part, place)
        rest = {key: value for key, value in new.items() if key not in (*_UNIONS, "allOf")}
        for key in _UNIONS:
            for part in old.get(key, []):
                form = self._resolved(part, self._old_root)
                yield from self.schemas({**_without(old, key), **_mapping(form)}, rest, place)
        for key in _UNIONS:
            if key in new:
                yield from self._forms(old, new[key], key, place)

    def _forms(
        self, old: Mapping[str, Any], parts: list[Any], union: str, place: Place
    ) -> Iterator[tuple[Place, str]]:
        """What of ``old`` fits none of the new forms or, for oneOf, perhaps two of them."""
        olds = next((old[key] for key in _UNIONS if key in old), [_without(old, "allOf")])
        for part in olds:
            if not any(self._accepts_all(part, candidate) for candidate in parts):
                shown = canonical_json(_plain(part))
                yield place, f"a form that was accepted fits none of the {union} any more: {shown[:120]}"
        same = (
            canonical_json(_plain(old.get("oneOf"))) == canonical_json(_plain(parts))
            and self._same_definitions()
        )
        if union == "oneOf" and not same and not self._exclusive(parts):
            yield place, "what fits two forms of the oneOf is refused now"

    def _exclusive(self, parts: list[Any]) -> bool:
        """True when no value can fit two of the forms: they want different types or different values."""
        if len(parts) < 2:
            return True
        forms = [_mapping(self._resolved(part, self._new_root)) for part in parts]
        types = [self._types_of(form) for form in forms]
        if all(types):
            widened = [kinds | ({"integer"} if "number" in kinds else set()) for kinds in types if kinds]
            if sum(map(len, widened)) == len(frozenset().union(*widened)):
                return True
        values = [_values_of(form) for form in forms]
        listed = [canonical_json(value) for known in values if known is not None for value in known]
        return all(known is not None for known in values) and len(set(listed)) == len(listed)

    def _types_of(self, schema: Mapping[str, Any]) -> frozenset[str] | None:
        """The types that a schema names, itself or in one of its allOf."""
        parts = [schema, *(_mapping(self._resolved(p, self._old_root)) for p in schema.get("allOf", []))]
        return next((kinds for part in parts if (kinds := _types(part)) is not None), None)

    def _same_definitions(self) -> bool:
        return all(
            canonical_json(self._old_root.get(key)) == canonical_json(self._new_root.get(key))
            for key in ("$defs", "definitions")
        )

    def _resolved(self, schema: Any, root: Mapping[str, Any]) -> Any:
        for _ in range(_DEEPEST):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                return schema
            target = resolve_reference(root, schema["$ref"])
            if target is None:
                return schema
            schema = {**_mapping(target), **_without(schema, "$ref")}
        return schema


_ALL = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))


def _types(schema: Mapping[str, Any]) -> frozenset[str] | None:
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    return frozenset(map(str, kind)) if isinstance(kind, list) else None


def _widened(types: frozenset[str]) -> frozenset[str]:
    return frozenset({"integer"}) if "number" in types else frozenset()


def _values_of(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _type_of(value: Any) -> str:
    kinds = (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (dict, "object"),
        (list, "array"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _plain(schema: Any) -> Any:
    """A schema without what only describes, at every level: properties of such names are kept."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    plain = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, Mapping):
            plain[key] = {name: _plain(inner) for name, inner in value.items()}
        elif key in ("enum", "const"):
            plain[key] = value
        elif key not in _ANNOTATIONS:
            plain[key] = _plain(value)
    return plain


def _without(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}


def _mapping(schema: Any) -> Mapping[str, Any]:
    return schema if isinstance(schema, Mapping) else {}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(values: list[Any]) -> str:
    shown = ", ".join(canonical_json(value)[:60] for value in values[:6])
    return f"{shown} and {len(values) - 6} more" if len(values) > 6 else shown
