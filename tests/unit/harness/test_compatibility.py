"""Schemas compared: what is called compatible refuses no call that was valid; what is refused is named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hat.harness.diffing.compatibility import narrowings

OBJECT = {"type": "object"}


def refused(before, after, renamed=None):
    return [
        (n.argument, n.text) for n in narrowings({**OBJECT, **before}, {**OBJECT, **after}, renamed or {})
    ]


def properties(**schemas):
    return {"properties": schemas}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (properties(a={"type": "integer"}), properties(a={"type": "number"})),
        (properties(a={"enum": [1, 2]}), properties(a={"enum": [2, 1, 3]})),
        (properties(a={"minimum": 3}), properties(a={"minimum": 1})),
        (properties(a={"type": "string"}), properties(a={"type": ["string", "null"]})),
        (
            properties(a={"type": "string", "title": "A"}),
            properties(a={"type": "string", "description": "B"}),
        ),
        ({**properties(a={}), "required": ["a"]}, properties(a={}, b={"type": "string"})),
        (
            properties(a={"anyOf": [{"type": "string"}]}),
            properties(a={"anyOf": [{"type": "null"}, {"type": "string"}]}),
        ),
        (
            {**properties(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string"}}},
            {**properties(a={"$ref": "#/$defs/B"}), "$defs": {"B": {"type": "string"}}},
        ),
        (
            {**properties(a={"$ref": "#/$defs/A"}), "$defs": {"A": properties(a={"$ref": "#/$defs/A"})}},
            {**properties(a={"$ref": "#/$defs/B"}), "$defs": {"B": properties(a={"$ref": "#/$defs/B"})}},
        ),
    ],
)
def test_a_wider_or_equal_schema_refuses_nothing(before, after):
    assert refused(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "argument", "words"),
    [
        (properties(a={"type": "number"}), properties(a={"type": "integer"}), "a", "type number"),
        (properties(a={"enum": [1, 2]}), properties(a={"enum": [1]}), "a", "2 is refused"),
        (properties(a={}), properties(a={"maxLength": 5}), "a", "longer than 5"),
        (properties(a={}), {**properties(a={}), "required": ["a"]}, "a", "it is required"),
        (properties(a={}), {**properties(), "additionalProperties": False}, "a", "no argument any more"),
        (properties(a={}), properties(a={"pattern": "x"}), "a", "pattern"),
        (
            properties(a={"items": {"type": "string"}}),
            properties(a={"items": {"type": "null"}}),
            "a",
            "string",
        ),
        (
            properties(a={"oneOf": [{"const": 1}, {"const": 2}]}),
            properties(a={"oneOf": [{"const": 1}]}),
            "a",
            "form",
        ),
        (properties(a={}), properties(a={"not": {"const": 1}}), "a", "condition not"),
        (
            {**properties(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string"}}},
            {**properties(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "null"}}},
            "a",
            "string",
        ),
    ],
)
def test_a_narrower_schema_names_the_argument_and_what_is_refused(before, after, argument, words):
    found = refused(before, after)
    assert any(name == argument and words in text for name, text in found), found


def test_a_renamed_argument_is_compared_with_what_it_was():
    before, after = properties(a={"type": "string"}), properties(b={"type": "string"})
    closed = {"additionalProperties": False}
    assert refused({**before, **closed}, {**after, **closed}, {"a": "b"}) == []
    assert refused({**before, **closed}, {**after, **closed}) != []


leaves = st.one_of(
    st.sampled_from(
        [
            True, {}, {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": ["string", "null"]},
            {"enum": [1, "x"]}, {"enum": [1, "x", None]}, {"const": 1}, {"minimum": 2}, {"minimum": 1, "maximum": 5},
            {"type": "string", "maxLength": 2}, {"type": "string", "minLength": 1}, {"type": "object"},
        ]
    )
)  # fmt: skip
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["object", "array"]),
                "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
                "required": st.lists(st.sampled_from(["a", "b"]), unique=True, max_size=2),
                "additionalProperties": inner | st.just(False),
                "items": inner,
                "maxItems": st.integers(0, 2),
            },
        ),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"oneOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"allOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=6,
)
values = st.recursive(
    st.sampled_from([None, True, 0, 1, 2, 3, 1.5, 9, "", "x", "long"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(before=schemas, after=schemas, instances=st.lists(values, min_size=12, max_size=24))
def test_what_is_called_compatible_accepts_every_value_that_was_valid(before, after, instances):
    wrapped = [{"type": "object", "properties": {"v": schema}} for schema in (before, after)]
    if narrowings(*wrapped, {}):
        return
    first, second = map(Draft202012Validator, wrapped)
    for instance in instances:
        if first.is_valid({"v": instance}):
            assert second.is_valid({"v": instance}), instance
