"""The semantic diff: every edit is named for what it is, once, and nothing else is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hat.harness.diff import diff_harnesses
from hat.harness.diffing.matching import shared_words
from hat.harness.diffing.page import html
from hat.harness.diffing.present import headline, markdown, sentence
from hat.harness.registry import Registry

REGISTRY = Registry(Path(__file__).parents[3] / "harness_registry")


def changes(next_version):
    before, after = next_version.registry.load("shop", "1.0.0"), next_version.load()
    return [(c.part, c.kind, c.subject) for c in diff_harnesses(before, after).changes]


def test_a_copy_under_another_number_has_no_difference(next_version):
    assert changes(next_version) == []


def test_a_renamed_tool_is_one_change_although_its_references_follow(next_version):
    (next_version.folder / "tools/get_info.json").rename(next_version.folder / "tools/look_up.json")
    for name in ("tools/look_up.json", "harness.yaml", "prompts/rules.md", "skills/two-links/SKILL.md"):
        next_version.edit(name, "get_info", "look_up")
    assert changes(next_version) == [("tool", "renamed", "look_up")]


def test_a_reference_that_does_not_follow_is_a_reworded_text(next_version):
    (next_version.folder / "tools/get_info.json").rename(next_version.folder / "tools/look_up.json")
    next_version.edit("tools/look_up.json", "get_info", "look_up")
    next_version.edit("harness.yaml", "get_info", "look_up")
    assert ("rule", "reworded", "block rules, item 3") in changes(next_version)


def test_an_argument_renamed_in_one_tool_only_is_told_for_that_tool(next_version):
    next_version.edit("tools/stock.json", "link_id", "item")
    next_version.edit("harness.yaml", "check_stock, arguments: {link_id:", "check_stock, arguments: {item:")
    assert changes(next_version) == [("argument", "renamed", "stock.item")]


def test_two_tools_that_swap_names_are_both_renamed(next_version):
    files = [next_version.folder / "tools" / f"{name}.json" for name in ("get_info", "stock")]
    first, second = (json.loads(path.read_text()) for path in files)
    files[0].write_text(json.dumps({**second, "name": "get_info"}))
    files[1].write_text(json.dumps({**first, "name": "stock"}))
    text = (next_version.folder / "harness.yaml").read_text()
    text = text.replace("  get_info:", "  x:").replace("  stock:", "  get_info:").replace("  x:", "  stock:")
    next_version.write("harness.yaml", text)
    found = changes(next_version)
    assert {("tool", "renamed", "stock"), ("tool", "renamed", "get_info")} <= set(found)


def test_a_renamed_skill_is_found_by_its_content_even_when_reworded(next_version):
    (next_version.folder / "skills/deals").rename(next_version.folder / "skills/vouchers")
    next_version.edit("skills/vouchers/SKILL.md", "name: deals", "name: vouchers")
    next_version.edit("skills/vouchers/SKILL.md", "Give the code.", "Always give the code.")
    assert changes(next_version) == [
        ("skill", "renamed", "vouchers"),
        ("skill", "reordered", "skills"),
        ("rule", "reworded", "skill vouchers, item 1"),
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("prompts/rules.md", "Never guess.", "Do never guess.", ("rule", "reworded", "block rules, item 2")),
        ("prompts/rules.md", "- Never guess.\n", "", ("rule", "removed", "block rules, item 2")),
        ("prompts/rules.md", "- Never", "- Smile.\n- Never", ("rule", "added", "block rules, item 2")),
        ("prompts/rules.md", "# Rules", "# Laws", ("rule", "reworded", "block rules, title")),
        ("skills/deals/SKILL.md", "Coupons", "Discounts", ("skill", "reworded", "deals, description")),
        ("skills/two-links/SKILL.md", "strategy", "reply", ("skill", "changed", "two-links, kind")),
        ("skills/deals/SKILL.md", "coupon'", "coupon host'", ("skill", "changed", "deals, intents")),
        ("tools/stock.json", "How many are left", "Units left", ("tool", "reworded", "stock, description")),
        ("tools/stock.json", "integer", "number", ("argument", "changed", "stock.link_id, schema")),
        ("tools/stock.json", "false", "true", ("tool", "changed", "stock, inputSchema")),
        ("hooks/hooks.json", "Wrong:", "Not right:", ("hook", "reworded", "arguments_valid, message")),
        ("hooks/hooks.json", "PreReply", "PostAssistant", ("hook", "moved", "reply_skill_loaded")),
        ("harness.yaml", "max_turns: 6", "max_turns: 5", ("limit", "changed", "max_turns")),
        ("harness.yaml", "layout: markdown", "layout: json", ("layout", "changed", "layout")),
        ("harness.yaml", "operation: check_stock", "operation: find_coupon", ("binding", "changed", "stock")),
    ],
)
def test_one_edit_is_one_change_named_for_what_it_is(next_version, file, old, new, expected):
    next_version.edit(file, old, new)
    assert changes(next_version) == [expected]


def test_an_optional_and_a_required_argument_are_told_apart(next_version):
    properties = {"link_id": {"type": "integer"}, "colour": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": [], "additionalProperties": False}
    next_version.edit_tool("stock", inputSchema=schema)
    before = next_version.registry.load("shop", "1.0.0")
    found = diff_harnesses(before, next_version.load()).changes
    assert [(c.kind, c.subject, c.note) for c in found] == [
        ("changed", "stock.link_id", ""),
        ("added", "stock.colour", "optional"),
    ]
    assert (found[0].before, found[0].after) == ("required", "optional")


def test_reordered_blocks_items_and_tools_are_told_as_such(next_version):
    next_version.edit("harness.yaml", "- {id: role}\n    - {id: rules}", "- {id: rules}\n    - {id: role}")
    next_version.edit(
        "prompts/rules.md",
        "- Never guess.\n- Use `get_info` for prices.",
        "- Use `get_info` for prices.\n- Never guess.",
    )
    assert changes(next_version) == [("block", "reordered", "blocks"), ("rule", "reordered", "block rules")]


def test_a_rule_moved_from_the_prompt_to_a_skill_is_one_move(next_version):
    next_version.edit("prompts/rules.md", "- Never guess.\n", "")
    next_version.edit("skills/deals/SKILL.md", "- Give", "- Never guess.\n- Give")
    assert changes(next_version) == [("rule", "moved", "skill deals, item 1")]


def test_added_and_removed_parts_are_named(next_version):
    next_version.write(
        "skills/tea-time/SKILL.md", "---\nname: tea-time\ndescription: Tea\n---\n# Tea\n\n- Brew it.\n"
    )
    (next_version.folder / "tools/stock.json").unlink()
    text = (next_version.folder / "harness.yaml").read_text()
    next_version.write(
        "harness.yaml", "".join(x for x in text.splitlines(keepends=True) if "  stock:" not in x)
    )
    assert set(changes(next_version)) == {
        ("tool", "removed", "stock"),
        ("skill", "added", "tea-time"),
        ("rule", "added", "skill tea-time, item 1"),
    }


def test_tools_that_only_share_an_operation_object_are_matched_on_their_own_side(shop):
    harness = shop.load()
    swapped = dict(harness.bindings)
    swapped["stock"], swapped["coupon"] = swapped["coupon"], swapped["stock"]
    after = replace(harness, bindings=tuple(swapped.items()))
    kinds = {(c.part, c.kind) for c in diff_harnesses(harness, after).changes}
    assert ("tool", "renamed") in kinds


def test_the_shipped_versions_differ_in_the_edits_that_were_made():
    difference = diff_harnesses(REGISTRY.load("live-shop", "1.0.0"), REGISTRY.load("live-shop", "1.1.0"))
    found = {(c.part, c.kind, c.before, c.after) for c in difference.changes if c.kind == "renamed"}
    assert found == {
        ("tool", "renamed", "get_product_info", "lookup_item"),
        ("tool", "renamed", "find_coupon", "get_deal"),
        ("argument", "renamed", "link_id", "item_link"),
        ("skill", "renamed", "delivery", "shipping-info"),
    }
    others = {(c.part, c.kind, c.subject) for c in difference.changes if c.kind != "renamed"}
    assert {
        ("skill", "reworded", "shipping-info, description"),
        ("block", "reordered", "blocks"),
        ("rule", "reworded", "skill after-sales, item 3"),
        ("hook", "reworded", "reply_length, message"),
    } <= others
    assert not {part for part, _, _ in others} & {"limit", "layout", "binding", "argument", "domain"}


def test_the_json_form_has_stable_keys(next_version):
    next_version.edit("harness.yaml", "max_turns: 6", "max_turns: 5")
    document = diff_harnesses(next_version.registry.load("shop", "1.0.0"), next_version.load()).to_json()
    assert document["schema_version"] == 1
    assert document["before"]["version"] == "1.0.0"
    assert document["changes"] == [
        {
            "part": "limit",
            "kind": "changed",
            "subject": "max_turns",
            "before": "6",
            "after": "5",
            "note": "",
            "risk": "behaviour-changing",
            "why": "what is right may be another thing now",
            "training": (
                "screening decides: where the model in production fails, a new one is trained under this version"
            ),
            "refused": (),
        }
    ]
    assert document["risks"] == {"cosmetic": 0, "preserving": 0, "behaviour-changing": 1}
    json.dumps(document)


def test_markdown_keeps_hostile_texts_inside_their_code_block(next_version):
    next_version.edit("prompts/rules.md", "Never guess.", "Never guess ``` </details> <script>.")
    next_version.edit("harness.yaml", "Text of 1.1.0.", "'# Hi <b>'")
    difference = diff_harnesses(next_version.registry.load("shop", "1.0.0"), next_version.load())
    lines = markdown(difference).splitlines()
    fence = next(line for line in lines if line.strip().startswith("````"))
    assert fence.strip() == "````diff"
    assert "\\<b\\>" in lines[2]
    assert headline(difference).endswith("1 change")
    assert sentence(difference.changes[0]) == "text reworded: block rules, item 2"


def test_shared_words_ignores_order_and_case_and_reads_chinese():
    assert shared_words("No returns for food", "food: no Returns for") == 1
    assert shared_words("a b", "c d") == 0
    assert shared_words("七天无理由退货", "七天内退货") > 0.6
    assert shared_words("", "") == 1


def risks(next_version):
    before, after = next_version.registry.load("shop", "1.0.0"), next_version.load()
    return {change.subject: (change.risk, change.why) for change in diff_harnesses(before, after).changes}


@pytest.mark.parametrize(
    ("new", "risk"),
    [
        ("Food: not ever.", "preserving"),
        ("Food: maybe.", "behaviour-changing"),
        ("Food and toys: never within 7 days.", "behaviour-changing"),
    ],
)
def test_a_reworded_rule_is_classed_by_what_decides_a_case(next_version, new, risk):
    next_version.edit("skills/returns-desk/SKILL.md", "Food: never.", new)
    assert next(found for found, _ in risks(next_version).values()) == risk


@pytest.mark.parametrize(
    ("file", "old", "new", "risk"),
    [
        ("tools/stock.json", "How many are left", "Units left", "preserving"),
        ("tools/stock.json", "integer", "number", "preserving"),
        ("tools/stock.json", "integer", "string", "behaviour-changing"),
        ("tools/stock.json", "false", "true", "preserving"),
        ("prompts/rules.md", "- Never guess.\n", "", "behaviour-changing"),
        ("harness.yaml", "layout: markdown", "layout: json", "preserving"),
        ("hooks/hooks.json", "Wrong:", "Not right:", "preserving"),
        ("harness.yaml", "operation: check_stock", "operation: find_coupon", "behaviour-changing"),
    ],
)
def test_each_change_has_a_risk(next_version, file, old, new, risk):
    next_version.edit(file, old, new)
    assert [found for found, _ in risks(next_version).values()] == [risk]


def test_calls_that_are_refused_now_are_named_at_their_change(next_version):
    schema = {
        "type": "object",
        "properties": {"link_id": {"type": "integer", "maximum": 9}, "colour": {"type": "string"}},
        "required": ["link_id", "colour"],
        "additionalProperties": False,
    }
    next_version.edit_tool("stock", inputSchema=schema)
    before = next_version.registry.load("shop", "1.0.0")
    refused = {
        change.subject: change.refused for change in diff_harnesses(before, next_version.load()).changes
    }
    assert refused["stock.link_id, schema"] == ("above 9 is refused now (maximum)",)
    assert refused["stock.colour"] == ("calls without it are refused now: it is required",)


def test_a_required_argument_that_is_not_declared_is_a_change_that_refuses_calls(next_version):
    schema = {
        "type": "object",
        "properties": {"link_id": {"type": "integer"}},
        "required": ["link_id", "colour"],
        "additionalProperties": False,
    }
    without = {**schema, "required": ["link_id"]}
    next_version.edit_tool("stock", inputSchema=schema)
    after = next_version.load()
    tools = tuple(
        replace(tool, input_schema_json=json.dumps(without)) if tool.name == "stock" else tool
        for tool in after.tools
    )
    (found,) = diff_harnesses(replace(after, tools=tools), after).changes
    assert (found.subject, found.risk) == ("stock, inputSchema", "behaviour-changing")
    assert found.refused == ("colour: calls without it are refused now: it is required",)


def test_the_edits_of_1_1_0_are_classed():
    difference = diff_harnesses(REGISTRY.load("live-shop", "1.0.0"), REGISTRY.load("live-shop", "1.1.0"))
    assert {change.risk for change in difference.changes} <= {"cosmetic", "preserving"}
    assert {(c.kind, c.before, c.after) for c in difference.changes if c.kind == "renamed"} == {
        ("renamed", "get_product_info", "lookup_item"),
        ("renamed", "link_id", "item_link"),
        ("renamed", "find_coupon", "get_deal"),
        ("renamed", "delivery", "shipping-info"),
    }


def test_the_page_is_whole_and_escapes_what_harnesses_say(next_version):
    next_version.edit("prompts/rules.md", "Never guess.", "Never <script>alert(1)</script> guess.")
    next_version.edit("harness.yaml", "Text of 1.1.0.", "A & B <b>.")
    page = html(diff_harnesses(next_version.registry.load("shop", "1.0.0"), next_version.load()))
    assert "<script" not in page
    assert "A &amp; B &lt;b&gt;." in page
    assert 'name="viewport"' in page
    assert "http" not in page
