"""JSON Schemas of tools: valid under their draft, references local, resolving and free of loops."""

import pytest

from hat.harness.load import read_harness

OBJECT = {"type": "object"}


def rules_for(shop, schema, **keys):
    shop.edit_tool("stock", inputSchema=schema, **keys)
    return {p.rule for p in read_harness(shop.folder).problems} - {"binding-argument"}


@pytest.mark.parametrize(
    "schema",
    [
        {**OBJECT, "properties": {"link_id": {"type": "number", "minimum": 1}}},
        {**OBJECT, "$schema": "https://json-schema.org/draft/2020-12/schema"},
        {**OBJECT, "$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"]}},
        {**OBJECT, "properties": {"a": {"$ref": "#/$defs/A~1b"}}, "$defs": {"A/b": {"enum": [1]}}},
        {**OBJECT, "properties": {"a": {"$ref": "#a"}}, "$defs": {"A": {"$anchor": "a", "type": "string"}}},
        {**OBJECT, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {**OBJECT, "properties": {"a": {"enum": [{"$ref": "elsewhere.json"}]}}},
        {**OBJECT, "properties": {}},
    ],
)
def test_valid_schemas_of_both_drafts_pass(shop, schema):
    assert rules_for(shop, schema) == set()


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({**OBJECT, "properties": {"a": {"type": "int"}}}, "schema-invalid"),
        ({**OBJECT, "properties": {"a": {"pattern": "("}}}, "schema-invalid"),
        ({**OBJECT, "patternProperties": {"[": {}}}, "schema-invalid"),
        ({**OBJECT, "properties": []}, "schema-invalid"),
        ({**OBJECT, "required": "a"}, "schema-invalid"),
        ({**OBJECT, "$schema": "http://json-schema.org/draft-04/schema#"}, "schema-draft"),
        ({**OBJECT, "properties": {"a": {"$ref": "#/$defs/B"}}}, "schema-ref"),
        ({**OBJECT, "properties": {"a": {"$ref": "#nowhere"}}}, "schema-ref"),
        ({**OBJECT, "properties": {"a": {"$ref": "../stock.json"}}}, "schema-ref-remote"),
        ({**OBJECT, "properties": {"a": {"$ref": "https://example.org/s"}}}, "schema-ref-remote"),
        ({**OBJECT, "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "schema-ref-remote"),
        ({**OBJECT, "$ref": "#"}, "schema-ref-cycle"),
        (
            {**OBJECT, "properties": {"a": {"$ref": "#/$defs/B"}}, "$defs": {"B": {"$ref": "#/$defs/C"},
             "C": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/B"}]}}},
            "schema-ref-cycle",
        ),
        ({**OBJECT, "properties": {"child": {"$ref": "#"}}}, "schema-recursive"),
        ({**OBJECT, "required": ["a"]}, "required-undeclared"),
        ({"type": "array"}, "tool-schema"),
        ({}, "tool-schema"),
        ([], "tool-schema"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_used_is_reported(shop, schema, rule):
    assert rule in rules_for(shop, schema)


def test_a_recursive_schema_is_kept_as_it_is(shop):
    schema = {**OBJECT, "properties": {"link_id": {"type": "integer"}, "next": {"$ref": "#"}}}
    shop.edit_tool("stock", inputSchema=schema)
    assert shop.load().tool("stock").input_schema == schema


def test_the_line_of_a_wrong_keyword_is_told(shop):
    path = shop.edit_tool("stock", inputSchema={**OBJECT, "properties": {"link_id": {"type": "int"}}})
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if '"int"' in text)
    problem = next(p for p in read_harness(shop.folder).problems if p.rule == "schema-invalid")
    assert problem.line == line


def test_a_very_large_web_of_references_is_checked_without_exploding(shop):
    names = [f"D{number}" for number in range(200)]
    definitions = {
        name: {"anyOf": [{"$ref": f"#/$defs/{other}"} for other in names[index + 1 : index + 6]] or [True]}
        for index, name in enumerate(names)
    }
    schema = {**OBJECT, "properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": definitions}
    assert rules_for(shop, schema) == set()


def test_unknown_keys_of_a_tool_and_its_output_schema_are_checked(shop):
    assert rules_for(shop, OBJECT, colour="red", outputSchema={"type": 3}) == {
        "tool-unknown-key",
        "schema-invalid",
    }
