"""JSON Schemas of tools: valid under their draft, with local references that resolve and cannot loop."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined
from hat.harness.reading.lined import Path as Place
from hat.harness.reading.plain_schema import plainly_valid

DRAFTS = {
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "http://json-schema.org/draft-07/schema": "draft-07",
    "https://json-schema.org/draft-07/schema": "draft-07",
}
_ONE = (
    "additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema",
)  # fmt: skip
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_IN_PLACE_ONE = ("not", "if", "then", "else")
_IN_PLACE_MANY = ("allOf", "anyOf", "oneOf")
MAX_FINDINGS = 20


def check_schema(source: Lined, root: Place, file: Path, problems: Problems) -> None:
    """Note everything that is wrong with the schema at ``root`` of a file."""
    schema = _at(source.value, root)
    if not isinstance(schema, dict):
        problems.add("schema-invalid", file, "a schema is an object", source.line(*root))
        return
    named = str(schema.get("$schema", "https://json-schema.org/draft/2020-12/schema")).rstrip("#")
    draft = DRAFTS.get(named)
    if draft is None:
        message = f"$schema is {named!r}: 2020-12 and draft-07 are understood"
        problems.add("schema-draft", file, message, source.line(*root, "$schema"))
        return
    invalid = () if plainly_valid(schema) else _meta_errors(json.dumps(schema, ensure_ascii=False), draft)
    for place, message in invalid[:MAX_FINDINGS]:
        problems.add("schema-invalid", file, message, source.line(*root, *place))
    if invalid:
        return
    _check_patterns(schema, source, root, file, problems)
    _check_references(schema, source, root, file, problems)


@lru_cache(maxsize=4096)
def _meta_errors(schema_json: str, draft: str) -> tuple[tuple[Place, str], ...]:
    """(path, message) of each violation of the draft's own schema. Texts, since results are cached."""
    from jsonschema import Draft7Validator, Draft202012Validator

    kind = Draft7Validator if draft == "draft-07" else Draft202012Validator
    errors = kind(kind.META_SCHEMA).iter_errors(json.loads(schema_json))
    try:
        return tuple((tuple(error.absolute_path), _short(error.message)) for error in errors)
    except RecursionError:
        return (((), "nested too deeply to be checked"),)


def subschemas(schema: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """(path, schema) of a schema and of each one inside it; data under enum, const or examples is none."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key in _ONE:
        yield from subschemas(schema.get(key), (*place, key))
    for key in _MANY:
        if isinstance(schema.get(key), list):
            for index, item in enumerate(schema[key]):
                yield from subschemas(item, (*place, key, index))
    for key in _NAMED:
        if isinstance(schema.get(key), dict):
            for name, item in schema[key].items():
                yield from subschemas(item, (*place, key, name))


def _check_patterns(schema: Any, source: Lined, root: Place, file: Path, problems: Problems) -> None:
    for place, inner in subschemas(schema):
        patterns = [(inner["pattern"], "pattern")] if isinstance(inner.get("pattern"), str) else []
        patterns += [(text, "patternProperties") for text in inner.get("patternProperties", {})]
        for text, key in patterns:
            try:
                re.compile(text)
            except (re.error, RecursionError, OverflowError) as error:
                message = f"{key} is not a regular expression: {error}"
                problems.add("schema-invalid", file, message, source.line(*root, *place, key))


def _check_references(
    schema: dict[str, Any], source: Lined, root: Place, file: Path, problems: Problems
) -> None:
    """Every ``$ref`` is local and resolves; leading back to itself without entering a value is a loop."""
    known: dict[Place, Any] = dict(subschemas(schema))
    anchors = {
        inner["$anchor"]: place for place, inner in known.items() if isinstance(inner.get("$anchor"), str)
    }
    targets: dict[Place, Place] = {}
    for place, inner in known.items():
        for key in ("$ref", "$dynamicRef"):
            reference = inner.get(key)
            if not isinstance(reference, str):
                continue
            line = source.line(*root, *place, key)
            if not reference.startswith("#"):
                message = f"{key} {reference[:80]!r} leaves the file: references begin with #"
                problems.add("schema-ref-remote", file, message, line)
                continue
            target = _target(reference[1:], schema, anchors)
            if target is None:
                problems.add("schema-ref", file, f"{key} {reference[:80]!r} leads nowhere", line)
            else:
                targets[place] = target
                known.setdefault(target, _at(schema, target))
    loop, recursive = _loops(known, targets)
    if loop is not None:
        message = "this $ref leads back to itself: no value can ever be checked against it"
        problems.add("schema-ref-cycle", file, message, source.line(*root, *loop, "$ref"))
    elif recursive is not None:
        message = "the schema contains itself; transforms leave a recursive schema as it is"
        problems.add("schema-recursive", file, message, source.line(*root, *recursive, "$ref"))


def _loops(known: dict[Place, Any], targets: dict[Place, Place]) -> tuple[Place | None, Place | None]:
    """A reference that loops without entering a value, and one that only makes the schema recursive."""
    in_place: dict[Place, list[Place]] = {}
    inside: dict[Place, list[Place]] = {}
    for place, inner in known.items():
        steps = [targets[place]] if place in targets else []
        if isinstance(inner, dict):
            steps += [(*place, key) for key in _IN_PLACE_ONE if (*place, key) in known]
            for key in _IN_PLACE_MANY:
                size = len(inner[key]) if isinstance(inner.get(key), list) else 0
                steps += [(*place, key, index) for index in range(size)]
        in_place[place] = steps
        inside.setdefault(place, []).extend(steps)
    # A schema also leads to those inside it, which is what makes recursion through a value.
    for place in known:
        for length in range(len(place) - 1, -1, -1):
            if place[:length] in known:
                inside[place[:length]].append(place)
                break
    return _cyclic(in_place, targets), _cyclic(inside, targets)


def _cyclic(steps: dict[Place, list[Place]], targets: dict[Place, Place]) -> Place | None:
    """The first reference on a cycle of the graph, by depth-first search without recursion."""
    state: dict[Place, int] = {}
    for start in steps:
        stack = [(start, iter(steps[start]))] if start not in state else []
        state.setdefault(start, 1)
        while stack:
            place, following = stack[-1]
            step = next(following, None)
            if step is None:
                state[place] = 2
                stack.pop()
            elif state.get(step) == 1:
                on_cycle = [entry for entry, _ in stack]
                return next((entry for entry in on_cycle[on_cycle.index(step) :] if entry in targets), step)
            elif step not in state:
                state[step] = 1
                stack.append((step, iter(steps.get(step, []))))
    return None


def _target(fragment: str, schema: Any, anchors: dict[str, Place]) -> Place | None:
    fragment = unquote(fragment)
    if not fragment:
        return ()
    if not fragment.startswith("/"):
        return anchors.get(fragment)
    place: list[str | int] = []
    value = schema
    for raw in fragment[1:].split("/"):
        part = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and part in value:
            place.append(part)
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            place.append(int(part[:9]))
            value = value[int(part[:9])]
        else:
            return None
    return tuple(place) if isinstance(value, dict | bool) else None


def resolve_reference(schema: Any, reference: str) -> Any:
    """The schema that a local ``$ref`` of ``schema`` names; None when it leads nowhere or out of it."""
    if not reference.startswith("#"):
        return None
    anchors: dict[str, Place] = {}
    if not reference.startswith("#/"):
        anchors = {
            inner["$anchor"]: place
            for place, inner in subschemas(schema)
            if isinstance(inner.get("$anchor"), str)
        }
    target = _target(reference[1:], schema, anchors)
    return None if target is None else _at(schema, target)


def declared_arguments(schema: dict[str, Any]) -> frozenset[str]:
    """Names of the arguments that an input schema declares: at its root, or in its unions and references."""
    names: set[str] = set()
    seen: set[int] = set()
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part.get("properties"), dict):
            names.update(part["properties"])
        for key in ("allOf", "anyOf", "oneOf"):
            waiting += part[key] if isinstance(part.get(key), list) else []
        waiting += [part.get(key) for key in ("if", "then", "else")]
        if isinstance(part.get("dependentSchemas"), dict):
            waiting += part["dependentSchemas"].values()
        if isinstance(part.get("$ref"), str):
            waiting.append(resolve_reference(schema, part["$ref"]))
    return frozenset(names)


def _at(value: Any, place: Place) -> Any:
    for part in place:
        value = value[part]
    return value


def _short(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:197]}..."
