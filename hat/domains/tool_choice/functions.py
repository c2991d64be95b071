"""Published function sets as a harness's tools: legal names, JSON Schema types, and every change said.

Function-calling data sets write parameters in dialects of JSON Schema: BFCL (Berkeley Function Calling Leaderboard)
has the types of Python, Java and JavaScript and dotted names, RoTBench has names with colons and spaces, and both
have lists in which two tools share a name. Nothing is dropped and nothing is guessed silently: what was changed is in
`ImportedTools.notes`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hat.errors import BadInput
from hat.harness.model import Tool

_TYPES: Mapping[str, str] = {
    **{name: name for name in ("object", "array", "string", "integer", "number", "boolean", "null")},
    **dict.fromkeys(("dict", "hashmap", "hashtable", "map"), "object"),
    **dict.fromkeys(("tuple", "list", "arraylist", "set", "queue", "stack"), "array"),
    **dict.fromkeys(("str", "char", "bigint"), "string"),
    **dict.fromkeys(("int", "long", "short", "byte"), "integer"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("bool",), "boolean"),
}
"""Types of the dialects, in lower case. Any other (`any` among them) means: no constraint."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


@dataclass(frozen=True)
class ImportedTools:
    """Tools under legal names that differ, and where they come from."""

    tools: tuple[Tool, ...]
    published: Mapping[str, str]
    """Tool to the name that it was published under; two tools may have had the same."""
    arguments: Mapping[tuple[str, str], str]
    """(tool, argument) to the argument's published name, where that differs."""
    notes: tuple[str, ...]
    """What was changed, in words."""

    def named(self, published: str) -> tuple[Tool, ...]:
        """All tools that were published under a name."""
        return tuple(tool for tool in self.tools if self.published[tool.name] == published)


def import_functions(functions: Sequence[Mapping[str, Any]]) -> ImportedTools:
    """Tools from ``[{"name", "description", "parameters": {"properties", "required", ...}}]``.

    Tools that share a name are kept under names of their own (``drivers``, ``drivers_2``), since a call could not say
    which is meant and no serving engine takes such a list.

    Raises:
        BadInput: an entry is not a function with a name.
    """
    notes: list[str] = []
    tools: list[Tool] = []
    published: dict[str, str] = {}
    arguments: dict[tuple[str, str], str] = {}
    for function in functions:
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise BadInput(f"not a function with a name: {str(function)[:80]}", where="function set")
        tool_name = _legal(name, published, notes, "tool")
        published[tool_name] = name
        schema = _object(function.get("parameters") or {}, f"tool {tool_name}", notes)
        legal: dict[str, str] = {}
        for argument in schema["properties"]:
            legal[argument] = _legal(
                argument, dict.fromkeys(legal.values(), ""), notes, f"argument of {tool_name}"
            )
            if legal[argument] != argument:
                arguments[tool_name, legal[argument]] = argument
        schema["properties"] = {legal[argument]: value for argument, value in schema["properties"].items()}
        schema["required"] = [legal[argument] for argument in schema["required"]]
        description = str(function.get("description") or "")
        tools.append(Tool(tool_name, description, json.dumps(schema, ensure_ascii=False)))
    return ImportedTools(tuple(tools), published, arguments, tuple(notes))


def _legal(name: str, taken: Mapping[str, Any], notes: list[str], what: str) -> str:
    """A legal name that is not taken."""
    plain = name if not _ILLEGAL.search(name) else _ILLEGAL.sub("_", name).strip("_")
    plain = plain[:_LONGEST_NAME] or "unnamed"
    if plain != name:
        notes.append(f"{what} {name!r} is called {plain!r}: its name is not legal")
    if plain not in taken:
        return plain
    number = 2
    while (numbered := f"{plain[: _LONGEST_NAME - 4]}_{number}") in taken:
        number += 1
    notes.append(f"{what} {name!r} is there before; this one is called {numbered!r}")
    return numbered


def _object(schema: Mapping[str, Any], where: str, notes: list[str]) -> dict[str, Any]:
    """An object schema whose required properties exist."""
    properties = {
        name: _schema(value, f"{where}, {name}", notes)
        for name, value in (schema.get("properties") or {}).items()
    }
    required = [name for name in schema.get("required") or () if name in properties]
    for name in schema.get("required") or ():
        if name not in properties:
            notes.append(f"{where} requires {name!r}, which it does not have")
    return {"type": "object", "properties": properties, "required": required}


def _schema(schema: Any, where: str, notes: list[str]) -> Any:
    """One parameter's schema in JSON Schema's own words."""
    if not isinstance(schema, Mapping):
        notes.append(f"{where} has no schema")
        return {}
    converted = {key: value for key, value in schema.items() if key in _KEPT}
    kind = schema.get("type")
    if isinstance(kind, str):
        known = _TYPES.get(kind.lower())
        if known != kind:
            notes.append(f"{where} has type {kind!r}, read as {known or 'any'}")
        if known:
            converted["type"] = known
    elif kind is not None:
        converted["type"] = kind
    kind = converted.get("type")
    if kind == "object" and "properties" in schema:
        converted.update(_object(schema, where, notes))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        converted["items"] = _schema(schema["items"], f"{where} items", notes)
    _check_values(converted, where, notes)
    return converted


_KEPT = ("description", "default", "enum", "const", "minimum", "maximum", "minLength", "maxLength")
_MATCHES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
}


def _check_values(schema: dict[str, Any], where: str, notes: list[str]) -> None:
    """Choices that the type forbids could never be sent: they belong to the items, or the type goes."""
    choices = schema.get("enum")
    if choices is None:
        return
    matches = _MATCHES.get(schema.get("type", ""))
    if not isinstance(choices, list) or not choices:
        notes.append(f"{where} has no choices in its enum")
        del schema["enum"]
    elif schema.get("type") == "array":
        schema.setdefault("items", {})["enum"] = schema.pop("enum")
        notes.append(f"{where} is an array with choices, read as choices of its items")
    elif matches is not None and not all(map(matches, choices)):
        notes.append(f"{where} has choices that are not of type {schema.pop('type')!r}, so that goes")
