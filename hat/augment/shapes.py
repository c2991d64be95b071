"""How one tool's arguments are laid out when presented: grouped, flattened, relabelled, or with one more option."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Names = Callable[[str], str]
Pairs = tuple[tuple[str, str], ...]

_TYPES: Mapping[str, type] = {"boolean": bool, "integer": int, "string": str}


class UnknownName(Exception):
    """A presented name that stands for nothing in this state."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"unknown {kind} {name!r}")


@dataclass(frozen=True)
class Shape:
    """A bijection between a tool's canonical arguments and their presented layout."""

    group: str = ""
    """Name of an object that holds the arguments ``grouped``."""
    grouped: tuple[str, ...] = ()
    flattened: tuple[tuple[str, Pairs], ...] = ()
    """Object argument, and for each of its properties the name under which it stands at the top."""
    labels: tuple[tuple[str, Pairs], ...] = ()
    """Argument, and for each value of its enum the label that is presented."""
    extra: Pairs = ()
    """Name and JSON Schema of options that change nothing; a valid value is dropped."""

    @cached_property
    def _flat(self) -> dict[str, dict[str, str]]:
        return {argument: dict(names) for argument, names in self.flattened}

    @cached_property
    def _labels(self) -> dict[str, dict[str, str]]:
        return {argument: dict(names) for argument, names in self.labels}

    @cached_property
    def _extra(self) -> dict[str, dict[str, Any]]:
        return {name: json.loads(schema) for name, schema in self.extra}

    def path(self, argument: str, shown: str) -> str:
        """Where a canonical argument, whose name is shown as ``shown``, is found."""
        return f"{self.group}.{shown}" if argument in self.grouped else shown

    def encode(self, arguments: Mapping[str, Any], name: Names) -> dict[str, Any]:
        """Canonical arguments in their presented layout."""
        out: dict[str, Any] = {}
        grouped: dict[str, Any] = {}
        for argument, value in arguments.items():
            if argument in self._flat and isinstance(value, dict):
                names = self._flat[argument]
                for inner, kept in value.items():
                    out[names[str(inner)] if inner in names else str(inner)] = kept
                continue
            if argument in self._labels and isinstance(value, str):
                value = self._labels[argument].get(value, value)
            (grouped if argument in self.grouped else out)[name(argument)] = value
        if grouped:
            out[self.group] = grouped
        return out

    def decode(self, arguments: Mapping[str, Any], canonical: Names) -> dict[str, Any]:
        """The way back.

        Raises:
            UnknownName: an argument stands where this layout has none, or a label is none of this state's.
        """
        out: dict[str, Any] = {argument: {} for argument in self._flat}
        inner_names = {
            shown: (argument, inner) for argument, names in self.flattened for inner, shown in names
        }
        for shown, value in arguments.items():
            if shown in inner_names:
                argument, inner = inner_names[shown]
                out[argument][inner] = value
            elif self.group and shown == self.group:
                if not isinstance(value, dict):
                    raise UnknownName("argument", shown)
                for name, held in value.items():
                    argument = canonical(name)
                    if argument not in self.grouped:
                        raise UnknownName("argument", name)
                    out[argument] = self._value(argument, held)
            elif shown in self._extra and _fits(value, self._extra[shown]):
                continue
            else:
                argument = canonical(shown)
                if argument in self.grouped or argument in self._flat:
                    raise UnknownName("argument", shown)
                out[argument] = self._value(argument, value)
        return out

    def _value(self, argument: str, value: Any) -> Any:
        labels = self._labels.get(argument)
        if labels is None or not isinstance(value, str):
            return value
        for canonical, label in labels.items():
            if label == value:
                return canonical
        if value in labels:
            raise UnknownName("value", value)
        return value

    def present_schema(self, schema: Mapping[str, Any], name: Names) -> dict[str, Any]:
        """The input schema as this layout shows it."""
        properties = schema.get("properties", {})
        required = list(schema.get("required", ()))
        shown: dict[str, Any] = {}
        shown_required: list[str] = []
        held: dict[str, Any] = {}
        for argument, value in properties.items():
            if argument in self._flat:
                shown.update({self._flat[argument][inner]: v for inner, v in value["properties"].items()})
                shown_required += [self._flat[argument][inner] for inner in value.get("required", ())]
                continue
            if argument in self._labels:
                value = _relabelled(value, self._labels[argument])
            if argument in self.grouped:
                held[name(argument)] = value
                continue
            shown[name(argument)] = value
            if argument in required:
                shown_required.append(name(argument))
        if held:
            held_required = [name(argument) for argument in self.grouped if argument in required]
            shown[self.group] = {
                "type": "object",
                "properties": held,
                "required": held_required,
                "additionalProperties": False,
            }
            shown_required += [self.group] if held_required else []
        shown.update(self._extra)
        return {**schema, "properties": shown, "required": shown_required}

    def holds(self, name: Names) -> str:
        """What is in the group, in words, for the tool's description; empty without a group."""
        inside = " and ".join(f"`{name(argument)}`" for argument in self.grouped)
        return f"`{self.group}` holds {inside}" if self.group else ""


def _relabelled(schema: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    changed = {**schema, "enum": [labels[value] for value in schema["enum"]]}
    if "default" in schema:
        changed["default"] = labels.get(schema["default"], schema["default"])
    return changed


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    kind = _TYPES[schema["type"]]
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return right and ("enum" not in schema or value in schema["enum"])


@dataclass(frozen=True)
class Envelope:
    """How results and errors of tools are wrapped: lossless, so `unwrap` gives back what went in."""

    status: str
    """Key that says whether it worked."""
    result: str
    """Key that holds the result."""
    error: str
    """Key that holds code and message of an error."""

    def wrap_result(self, value: Any) -> dict[str, Any]:
        return {self.status: True, self.result: value}

    def wrap_error(self, code: str, message: Any) -> dict[str, Any]:
        return {self.status: False, self.error: {"code": code, "message": message}}

    def unwrap(self, document: Mapping[str, Any]) -> tuple[str, Any]:
        """("", the result), or (code, message) of an error."""
        if document[self.status]:
            return "", document[self.result]
        return document[self.error]["code"], document[self.error]["message"]
