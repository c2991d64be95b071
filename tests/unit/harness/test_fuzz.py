"""Whatever the files hold, loading gives a harness or one `BadInput`, and linting problems: never a crash."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from hat.errors import BadInput
from hat.harness.lint import lint_path
from hat.harness.load import load_harness, read_harness
from hat.harness.problems import Problems
from hat.harness.reading.plain_schema import plainly_valid
from hat.harness.reading.strict_json import parse_json
from hat.harness.reading.strict_yaml import parse_yaml

FILES = (
    "harness.yaml", "hooks/hooks.json", "tools/stock.json", "skills/deals/SKILL.md", "prompts/rules.md",
)  # fmt: skip
SNIPPETS = [
    b"{{", b"}}", b"{%", b"`", b"---\n", b"# ", b"- ", b": ", b"&a", b"*a", b"!!", b"\xff", b"\x00",
    b"\xe2\x80\x8b",
    b"\r", b"[" * 70, b'"', b"\\ud800", b"null", b"1e999", b"9" * 5000, b"../", b'{"$ref": "#"}', b"<<: ",
    b"\xef\xbb\xbf", b"|", b">", b"'", b"{{ host.x }}", b"2024-13-40", b"0x", b"1_0", b".nan", b"? ", b"=",
]  # fmt: skip
relaxed = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


def survives(folder: Path) -> None:
    reading = read_harness(folder)
    try:
        harness = load_harness(folder)
    except BadInput as error:
        assert reading.harness is None
        str(error).encode("utf-8")
    else:
        assert reading.harness == harness
        harness.content_digest  # noqa: B018  must be computable for whatever loads
    for problem in lint_path(folder):
        json.dumps(problem.to_json(), ensure_ascii=False).encode("utf-8")
        assert problem.line >= 1


@relaxed
@given(name=st.sampled_from(FILES), content=st.binary(max_size=300))
def test_any_bytes_in_any_file(shop, name, content):
    before = (shop.folder / name).read_bytes()
    shop.write(name, content)
    survives(shop.folder)
    shop.write(name, before)


@relaxed
@given(name=st.sampled_from(FILES), seed=st.integers(0, 2**32))
def test_edits_of_well_formed_files(shop, name, seed):
    before = (shop.folder / name).read_bytes()
    draw = random.Random(seed)
    content = bytearray(before)
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(content))
        if draw.random() < 0.4:
            del content[at : at + draw.randint(1, 12)]
        else:
            content[at:at] = draw.choice(SNIPPETS)
    shop.write(name, bytes(content))
    survives(shop.folder)
    shop.write(name, before)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
schema_keys = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "$anchor",
     "enum", "pattern", "$schema", "additionalProperties", "description", "default", "const",
     "patternProperties"]
)  # fmt: skip
schema_values = st.recursive(
    st.sampled_from(["object", "string", "#", "#/$defs/a", "#/properties/a", "#a", "(", None, True, 3, "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(schema_keys, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "link_id"]), inner, max_size=3)
    ),
    max_leaves=16,
)


@relaxed
@given(schema=schema_values)
def test_any_schema_in_a_tool(shop, schema):
    before = (shop.folder / "tools/stock.json").read_bytes()
    shop.edit_tool("stock", inputSchema=schema)
    survives(shop.folder)
    shop.write("tools/stock.json", before)


@relaxed
@given(schema=schema_values)
def test_what_the_quick_test_calls_valid_is_valid_in_both_drafts(schema):
    if plainly_valid(schema):
        for draft in (Draft7Validator, Draft202012Validator):
            assert next(draft(draft.META_SCHEMA).iter_errors(schema), None) is None


@relaxed
@given(value=json_values)
def test_json_is_read_as_the_standard_library_reads_it(value):
    text = json.dumps(value, ensure_ascii=False, indent=1)
    problems = Problems()
    lined = parse_json(text, Path("x.json"), problems)
    assert problems.found == []
    assert lined is not None
    assert lined.value == value


@relaxed
@given(
    value=st.dictionaries(st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), json_values)
)
def test_json_lines_point_at_the_key(value):
    text = json.dumps(value, ensure_ascii=True, indent=1)
    lined = parse_json(text, Path("x.json"), Problems())
    assert lined is not None
    lines = text.split("\n")
    for key in value:
        assert lines[lined.line(key) - 1].startswith(f" {json.dumps(key)}:")


@relaxed
@given(text=st.text(max_size=200))
def test_any_text_as_yaml_gives_plain_data_or_problems(text):
    problems = Problems()
    lined = parse_yaml(text, Path("x.yaml"), problems)
    assert (lined is None) == bool(problems.errors)
    if lined is not None:
        json.dumps(lined.value, allow_nan=False).encode("utf-8")


@pytest.mark.parametrize("depth", [10, 64, 65, 1000])
def test_depth_is_bounded_in_the_same_way_in_json_and_yaml(depth):
    text = "[" * depth + "]" * depth
    for parse in (parse_json, parse_yaml):
        problems = Problems()
        assert (parse(text, Path("x"), problems) is None) == (depth > 64)
