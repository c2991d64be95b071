"""Tool transforms of calls and results: T5 lay arguments out anew, T6 add an option, T8 wrap results and errors."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hat.augment.arguments import sample_arguments, sample_value
from hat.augment.banks import bank
from hat.augment.codec import Envelope, Shape
from hat.augment.naming import LEGAL_NAME
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform, with_codec
from hat.augment.transforms.names import taken_names
from hat.augment.transforms.schemas import enum_of_texts, is_plain_object, unsupported
from hat.harness.model import Tool


class LayOutArguments(Transform):
    family = "T5"
    summary = "flatten or nest arguments, relabel the values of enums"
    needs = "a tool whose schema is an object of listed arguments"
    invariant = "a bijection of argument values: decoding a presented call gives the canonical one back"
    breaks = "the form of a call learnt by heart"
    surfaces = frozenset({"codec.shapes"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        taken = taken_names(state)
        words = bank("argument_layouts")
        group = _free(draw.rng.sample(words["groups"], k=len(words["groups"])), taken)
        shapes: dict[str, Shape] = {}
        for tool in state.canonical.tools:
            reason = (
                "it has a layout already"
                if tool.name in state.codec.shapes
                else unsupported(tool.input_schema)
            )
            shape = None if reason else _shape(tool, group, taken, draw)
            if shape is not None:
                shapes[tool.name] = shape
            elif reason:
                draw.notes.append(f"the arguments of {tool.name} keep their layout: {reason}")
        if not shapes:
            raise Skip("no tool has arguments that can be laid out anew")
        return with_codec(state, shapes={**state.codec.shapes, **shapes})

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        yield from _lost_shapes(before, after)
        rng = random.Random(after.seed)
        for tool in after.canonical.tools:
            shape = after.codec.shapes.get(tool.name)
            if shape is None:
                continue
            for _ in range(3):
                arguments = sample_arguments(tool.input_schema, rng)
                back = shape.decode(shape.encode(arguments, str), str)
                if back != arguments:
                    yield f"arguments {arguments} of {tool.name} come back as {back}"


class AddOptions(Transform):
    family = "T6"
    summary = "add an optional argument with a default"
    needs = "a tool whose schema is an object of listed arguments"
    invariant = "no operation sees the option: any valid value of it changes nothing"
    breaks = "filling in every argument that is offered"
    surfaces = frozenset({"codec.shapes"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        taken = taken_names(state)
        options = [
            entry for entry in bank("argument_layouts")["options"][draw.split] if entry[0] not in taken
        ]
        tools = []
        for tool in state.canonical.tools:
            reason = unsupported(tool.input_schema)
            if reason:
                draw.notes.append(f"{tool.name} gets no option: {reason}")
            else:
                tools.append(tool.name)
        if not tools or not options:
            raise Skip("no tool can take an option of the bank")
        name, schema = draw.rng.choice(options)
        chosen = draw.rng.sample(tools, k=draw.rng.randint(1, len(tools)))
        shapes = dict(state.codec.shapes)
        for tool_name in chosen:
            shape = shapes.get(tool_name, Shape())
            shapes[tool_name] = replace(shape, extra=(*shape.extra, (name, json.dumps(schema))))
        return with_codec(state, shapes=shapes)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        yield from _lost_shapes(before, after)
        rng = random.Random(after.seed)
        for tool in after.canonical.tools:
            shape = after.codec.shapes.get(tool.name, Shape())
            for name, schema_json in shape.extra:
                schema = json.loads(schema_json)
                arguments = sample_arguments(tool.input_schema, rng)
                call = {**shape.encode(arguments, str), name: sample_value(schema, rng)}
                if name in tool.input_schema.get("properties", {}) or "default" not in schema:
                    yield f"option {name} of {tool.name} is an argument already or has no default"
                elif shape.decode(call, str) != arguments:
                    yield f"option {name} of {tool.name} changes what is called"


class WrapResults(Transform):
    family = "T8"
    summary = "wrap results and errors"
    needs = "nothing"
    invariant = "lossless: unwrapping gives the result, or the error's code and message, back"
    breaks = "a result's outer form learnt by heart"
    surfaces = frozenset({"codec.envelope"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        if state.codec.envelope is not None:
            raise Skip("results are wrapped already")
        status, result, error = draw.rng.choice(bank("envelopes")[draw.split])
        return with_codec(state, envelope=Envelope(status, result, error))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        envelope = after.codec.envelope
        if envelope is None:
            yield "nothing is wrapped"
            return
        if len({envelope.status, envelope.result, envelope.error}) < 3:
            yield "two parts of the wrapping have one key"
        values: tuple[Any, ...] = ({"price": 12.5, "code": None}, [], "text", {envelope.error: {"code": "x"}})
        for value in values:
            if envelope.unwrap(json.loads(json.dumps(envelope.wrap_result(value)))) != ("", value):
                yield f"the result {value} is lost in its wrapping"
        if envelope.unwrap(envelope.wrap_error("not_found", "no link 3")) != ("not_found", "no link 3"):
            yield "an error is lost in its wrapping"


def _lost_shapes(before: HarnessState, after: HarnessState) -> Iterator[str]:
    for tool, shape in before.codec.shapes.items():
        now = after.codec.shapes.get(tool)
        if now is None or replace(now, extra=now.extra[: len(shape.extra)]) != shape:
            yield f"{tool} lost the layout that it had"


def _shape(tool: Tool, group: str, taken: set[str], draw: Draw) -> Shape | None:
    """Enums relabelled and required objects flattened where there are any; else everything in one object."""
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    required = tool.input_schema.get("required", [])
    labels = []
    for name, schema in properties.items():
        values = enum_of_texts(schema)
        if values:
            word = draw.rng.choice(bank("argument_layouts")["labels"])
            shown = [
                f"{word}_{number}" for number in draw.rng.sample(range(1, len(values) + 1), k=len(values))
            ]
            if not set(shown) & set(values):
                labels.append((name, tuple(zip(values, shown, strict=True))))
    flattened = []
    for name, schema in properties.items():
        if name in required and is_plain_object(schema):
            shown_names = {inner: f"{name}_{inner}" for inner in schema["properties"]}
            if all(LEGAL_NAME.match(s) and s not in taken for s in shown_names.values()):
                taken.update(shown_names.values())
                flattened.append((name, tuple(shown_names.items())))
    if labels or flattened:
        return Shape(flattened=tuple(flattened), labels=tuple(labels))
    if not properties or not group:
        return None
    return Shape(group=group, grouped=tuple(properties))


def _free(candidates: list[str], taken: set[str]) -> str:
    return next((name for name in candidates if name not in taken), "")
