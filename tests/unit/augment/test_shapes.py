"""Layouts of arguments and envelopes of results: bijections, or left alone."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.agent.calls import Call, parse_assistant, render_call
from hat.augment.arguments import sample_arguments
from hat.augment.codec import Codec, Envelope, Shape, UnknownName
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.augment.transforms.schemas import unsupported
from hat.harness.model import Binding, Harness, Tool
from hat.harness.registry import Registry

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")

SIMPLE = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "string", "enum": ["asc", "desc", "none"]},
        {"type": "array", "items": {"type": "integer"}},
        {"enum": [1, "one", None]},
        {},
    ]
)
NAMES = st.lists(st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True), unique=True, min_size=1, max_size=4)


@st.composite
def objects(draw: st.DrawFn, depth: int = 1) -> dict[str, Any]:
    names = draw(NAMES)
    inner = SIMPLE | objects(depth=depth - 1) if depth else SIMPLE
    return {
        "type": "object",
        "properties": {name: draw(inner) for name in names},
        "required": [name for name in names if draw(st.booleans())],
        "additionalProperties": False,
    }


def with_tools(*schemas: dict[str, Any]) -> Harness:
    """A harness whose tools have these input schemas, beside the one that loads skills."""
    tools = [Tool(f"tool_{n}", "Does it", json.dumps(schema)) for n, schema in enumerate(schemas)]
    kept = HARNESS.tool("load_skill")
    return replace(
        HARNESS,
        tools=(*tools, kept),
        bindings=(
            *((tool.name, Binding("anything", ())) for tool in tools),
            ("load_skill", HARNESS.binding("load_skill")),
        ),
        files_digest="",
    )


@given(schema=objects(), seed=st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_presenting_and_decoding_is_identity_on_arguments_of_any_plain_schema(
    schema: dict[str, Any], seed: int
) -> None:
    config = AugmentConfig(families=("T1", "T2", "T5", "T6"), probability=1, original_share=0)
    state = sample_state(with_tools(schema), seed=seed, split="test", config=config)
    rng = random.Random(seed)
    for _ in range(4):
        call = Call("tool_0", sample_arguments(schema, rng))
        presented = state.encode(call)
        (read,) = parse_assistant(render_call(presented)).calls
        assert state.decode(read) == call
        shown = state.presented.tools[0].input_schema
        assert set(presented.arguments) <= set(shown["properties"])
        assert set(shown["required"]) <= set(presented.arguments) | {"additional"}


def test_an_old_layout_stands_for_nothing() -> None:
    shape = Shape(group="params", grouped=("link_id", "region"))
    codec = Codec(shapes={"get_shipping": shape}, arguments={("get_shipping", "link_id"): "no"})
    call = Call("get_shipping", {"link_id": 3, "region": "Fujian"})
    assert codec.encode(call) == Call("get_shipping", {"params": {"no": 3, "region": "Fujian"}})
    assert codec.decode(codec.encode(call), {}) == call
    for wrong in ({"no": 3, "region": "Fujian"}, {"params": {"link_id": 3}}, {"params": "no"}):
        with pytest.raises(UnknownName):
            codec.decode(Call("get_shipping", wrong), {})


def test_an_old_value_of_a_relabelled_enum_is_unknown() -> None:
    shape = Shape(labels=(("order", (("asc", "opt_1"), ("desc", "opt_2"))),))
    assert shape.decode({"order": "opt_2"}, str) == {"order": "desc"}
    with pytest.raises(UnknownName, match="value 'asc'"):
        shape.decode({"order": "asc"}, str)


def test_an_option_changes_nothing_and_a_wrong_value_of_it_is_not_dropped() -> None:
    shape = Shape(extra=(("max_wait", '{"type": "integer", "default": 5}'),))
    assert shape.decode({"link_id": 3, "max_wait": 9}, str) == {"link_id": 3}
    assert shape.decode({"link_id": 3, "max_wait": "long"}, str) == {"link_id": 3, "max_wait": "long"}
    assert shape.decode({"link_id": 3, "max_wait": True}, str) == {"link_id": 3, "max_wait": True}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "dict", "properties": {"a": {"type": "any"}}},
        {"properties": {"a": {}}},
        {"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}]},
        {"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}},
        {"type": "object", "properties": {"a": {}}, "if": {"required": ["a"]}},
        {"type": "object", "properties": {"a": {}, "b": {"$ref": "#/properties/a"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}},
        {"type": "object", "properties": {"a": {}}, "minProperties": 1},
        {"type": "object", "$ref": "#/$defs/all", "$defs": {"all": {"properties": {"a": {}}}}},
    ],
)
def test_a_schema_that_is_not_understood_is_left_alone_with_a_reason(schema: dict[str, Any]) -> None:
    assert unsupported(schema)
    config = AugmentConfig(families=("T1", "T2", "T5", "T6"), probability=1, original_share=0)
    state = sample_state(with_tools(schema), seed=1, split="test", config=config)
    assert state.presented.tools[0].input_schema == schema
    assert {family for family, reason in state.skipped if "tool_0" in reason} == {"T2", "T5", "T6"}


def test_references_into_definitions_are_supported() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/size"}},
        "$defs": {"size": {"type": "integer"}},
    }
    assert unsupported(schema) == ""


@given(value=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
@settings(max_examples=50, deadline=None)
def test_unwrapping_gives_the_result_back(value: Any) -> None:
    envelope = Envelope("ok", "data", "error")
    assert envelope.unwrap(json.loads(json.dumps(envelope.wrap_result(value)))) == ("", value)
    assert envelope.unwrap(envelope.wrap_error("timeout", value)) == ("timeout", value)


def test_a_group_is_described_where_a_template_shows_only_its_type() -> None:
    codec = Codec(shapes={"get_shipping": Shape(group="params", grouped=("link_id", "region"))})
    shown = HarnessState(HARNESS, codec, HARNESS.digest).presented.tool("get_shipping")
    assert shown.description.endswith("; `params` holds `link_id` and `region`")
    assert list(shown.input_schema["properties"]) == ["params"]
    assert shown.input_schema["required"] == ["params"]
