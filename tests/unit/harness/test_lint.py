"""The linter: each rule fires on the mistake it is for, at its place, and not on a faultless harness."""

import json
from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.harness.lint import lint_path
from hat.harness.linting.budget import estimate_tokens
from hat.harness.rules import RULES


def found(shop):
    return [problem for problem in lint_path(shop.folder) if problem.rule != "unlocked"]


def rules(shop):
    return {problem.rule for problem in found(shop)}


def test_a_faultless_harness_has_no_problems(shop):
    assert found(shop) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "rule"),
    [
        ("prompts/rules.md", "`load_skill`", "`load_skil`", "unknown-symbol"),
        ("prompts/rules.md", "`load_skill`", "`open-skill`", "unknown-symbol"),
        ("prompts/rules.md", "`get_info`", "`get_info.product`", "unknown-symbol"),
        ("skills/two-links/SKILL.md", "`answer`", "`answers`", "unknown-symbol"),
        ("hooks/hooks.json", "`load_skill`", "`load_skills`", "unknown-symbol"),
        ("prompts/rules.md", "Never", "`Never`", "unknown-word"),
        ("prompts/rules.md", "`get_info`", "get_info", "pinned-symbol"),
        ("prompts/rules.md", "# Rules", "# Rules for `get_info`", "pinned-symbol"),
        ("skills/two-links/SKILL.md", "Comparing links", "Before two-links", "pinned-symbol"),
        ("prompts/room.md", "{{ host }}", "{{ hosts }}", "template-unbound"),
        ("skills/deals/SKILL.md", "Give the code.", "Give {{ host }} the code.", "template-outside"),
        ("harness.yaml", "domain: live_shop", "domain: live_shops", "unknown-domain"),
        ("harness.yaml", "operation: check_stock", "operation: stock_check", "binding-operation"),
        ("harness.yaml", "{query: query}", "{query: text}", "binding-argument"),
        ("harness.yaml", "region: region", "region: link_id", "binding-argument"),
        ("harness.yaml", "operation: check_stock", "operation: product_info", "operation-twice"),
        ("harness.yaml", "operation: check_stock", "operation: product_info", "operation-unbound"),
        ("harness.yaml", "operation: load_skill", "operation: check_stock", "no-skill-loader"),
        ("harness.yaml", "{id: skills, kind: skills}", "{id: skills}", "skills-unlisted"),
        ("harness.yaml", "max_turns: 6", "max_turns: 1", "limits"),
        ("harness.yaml", "max_tool_calls: 8", "max_tool_calls: 1", "limits"),
        ("harness.yaml", "max_retries: 2", "max_retries: 6", "limits-unreachable"),
        ("skills/deals/SKILL.md", "coupon'", "coupons'", "intent-unknown"),
        ("skills/deals/SKILL.md", "coupon'", "coupons'", "intent-unanswered"),
        ("skills/deals/SKILL.md", "coupon'", "coupon stock'", "intent-twice"),
        ("skills/deals/SKILL.md", "kind: reply", "kind: strategy", "intent-unanswered"),
        ("skills/deals/SKILL.md", "Coupons", "Prices and stock.", "indistinct"),
        ("tools/coupon.json", "Coupon of a link", "How many are left", "indistinct"),
        ("hooks/hooks.json", "arguments_valid", "arguments_valids", "hook-check"),
        ("hooks/hooks.json", '"matcher": "*"', '"matcher": "get_price"', "hook-matcher"),
        ("hooks/hooks.json", "reply_skill_loaded", "calls_well_formed", "hook-event"),
        ("hooks/hooks.json", "reply_skill_loaded", "arguments_valid", "hook-twice"),
    ],
)
def test_each_mistake_is_reported_by_its_rule_in_its_file(shop, file, old, new, rule):
    path = shop.edit(file, old, new)
    problems = [problem for problem in found(shop) if problem.rule == rule]
    assert problems
    where = {Path(problem.file) for problem in problems}
    # What is missing is reported at the folder or the manifest where it should be.
    assert path in where or rule in ("intent-unanswered", "operation-unbound")


def test_a_problem_is_reported_at_its_line(shop):
    shop.edit("prompts/rules.md", "`get_info`", "`get_infos`")
    assert [(problem.rule, problem.line) for problem in found(shop)] == [("unknown-symbol", 5)]
    assert "did you mean `get_info`?" in found(shop)[0].message


def test_a_misspelt_key_of_the_manifest_is_reported_at_its_line(shop):
    path = shop.edit("harness.yaml", "max_retries", "max_retry")
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "max_retry:" in text)
    assert ("manifest-schema", line) in {(problem.rule, problem.line) for problem in found(shop)}


def test_enum_values_in_code_spans_are_no_unknown_names(shop):
    shop.edit_tool(
        "find_link",
        inputSchema={
            "type": "object",
            "properties": {"query": {"type": "string", "enum": ["best_seller"]}},
            "required": ["query"],
        },
    )
    shop.edit("prompts/rules.md", "Never guess.", "Ask for `best_seller`, by `find_link.query` or `query`.")
    assert found(shop) == []


def test_plain_words_that_are_also_names_may_stand_in_text(shop):
    shop.edit("prompts/rules.md", "Never guess.", "Know the stock, deals and the query.")
    assert found(shop) == []


def test_no_reply_skill_at_all_is_reported_once(shop):
    for path in (shop.folder / "skills").glob("*/SKILL.md"):
        path.write_text(path.read_text().replace("kind: reply", "kind: strategy"))
    assert "reply-skill-missing" in rules(shop)


def test_two_tools_that_differ_only_in_hyphens_are_ambiguous(shop):
    tool = json.loads((shop.folder / "tools/get_info.json").read_text())
    shop.write("tools/get-info.json", json.dumps({**tool, "name": "get-info", "description": "Other"}))
    shop.edit(
        "harness.yaml",
        "bindings:\n",
        "bindings:\n  get-info: {operation: check_stock, arguments: {link_id: link_id}}\n",
    )
    assert "ambiguous-symbol" in rules(shop)


def test_a_tool_and_a_skill_with_one_name_are_ambiguous(shop):
    (shop.folder / "skills" / "deals").rename(shop.folder / "skills" / "stock")
    shop.edit("skills/stock/SKILL.md", "name: deals", "name: stock")
    assert "ambiguous-symbol" in rules(shop)


def test_an_optional_argument_that_the_operation_needs_is_reported(shop):
    schema = {"type": "object", "properties": {"link_id": {"type": "integer"}}}
    shop.edit_tool("stock", inputSchema=schema)
    assert rules(shop) == {"binding-argument"}


def test_names_are_not_called_unknown_while_a_file_cannot_be_read(shop):
    shop.write("skills/answer/SKILL.md", "broken")
    assert rules(shop) == {"front-matter"}


def test_problems_of_format_and_of_meaning_are_reported_together(shop):
    shop.write("tools/stock.json", "{")
    shop.edit("prompts/room.md", "{{ host }}", "{{ hosts }}")
    shop.edit("harness.yaml", "max_turns: 6", "max_turns: 1")
    assert {"json-syntax", "template-unbound", "limits"} <= rules(shop)


def test_a_prompt_over_its_budget_is_reported_as_an_estimate(shop):
    shop.edit("prompts/rules.md", "Never guess.", "Never guess the price of any link. " * 60)
    problem = next(problem for problem in found(shop) if problem.rule == "token-budget")
    assert "estimate" in problem.message


def test_the_token_estimate_grows_with_the_text_and_knows_chinese():
    assert estimate_tokens("") == 0
    assert estimate_tokens("a short sentence") == 3
    assert estimate_tokens("你好世界") > 4
    assert estimate_tokens("12345") == 5


def test_the_parent_must_exist_and_come_before(next_version):
    assert rules(next_version) == set()
    next_version.edit("harness.yaml", "parent: 1.0.0", "parent: 1.0.5")
    assert "version-parent" in rules(next_version)
    next_version.edit("harness.yaml", "parent: 1.0.5", "parent: 1.1.0")
    assert "version-parent" in rules(next_version)
    next_version.edit("harness.yaml", "parent: 1.1.0", "parent: null")
    assert "version-parent" in rules(next_version)


def test_a_number_that_skips_is_remarked_on(next_version):
    next_version.folder.rename(next_version.folder.parent / "1.3.0")
    manifest = next_version.folder.parent / "1.3.0" / "harness.yaml"
    manifest.write_text(manifest.read_text().replace("1.1.0", "1.3.0"))
    problems = {problem.rule for problem in lint_path(manifest.parent)}
    assert "version-step" in problems


def test_a_name_of_the_parent_that_stayed_behind_is_told_as_such(next_version):
    (next_version.folder / "skills/two-links").rename(next_version.folder / "skills/compare")
    next_version.edit("skills/compare/SKILL.md", "name: two-links", "name: compare")
    next_version.edit("prompts/rules.md", "Never guess.", "See `two-links`.")
    problem = next(problem for problem in found(next_version) if problem.rule == "unknown-symbol")
    assert "was a name in the parent version" in problem.message


def test_a_version_must_say_what_changed(next_version):
    next_version.edit("harness.yaml", "Text of 1.1.0.", "Text of 1.0.0.")
    assert rules(next_version) == {"change-untold"}


def test_folder_names_must_fit_the_manifest(shop):
    shop.edit("harness.yaml", "version: 1.0.0", "version: 1.0.1")
    assert "version-folder" in rules(shop)
    shop.edit("harness.yaml", "version: 1.0.1", "version: 1.0.0")
    shop.edit("harness.yaml", "name: shop", "name: shops")
    assert "version-folder" in rules(shop)


@pytest.mark.parametrize("name", ["latest", "v1.0.0", "1.0", "01.0.0", "1.0.0 ", "1.0.0-rc1", "１.0.0"])
def test_a_folder_among_the_versions_that_is_none_is_reported(shop, name):
    (shop.folder.parent / name).mkdir()
    problems = lint_path(shop.root / "shop")
    assert [p.rule for p in problems if p.severity == "error"] == ["version-folder"]
    assert shop.registry.versions("shop") == ["1.0.0"]


def test_a_registry_a_harness_a_version_and_a_file_can_be_linted(shop):
    shop.edit("prompts/room.md", "{{ host }}", "{{ hosts }}")
    shop.write("tools/stock.json", "{")
    expected = {"template-unbound", "json-syntax"}
    for path in (shop.root, shop.root / "shop", shop.folder):
        assert {p.rule for p in lint_path(path) if p.severity == "error"} == expected
    assert {p.rule for p in lint_path(shop.folder / "tools/stock.json")} == {"json-syntax"}
    assert {p.rule for p in lint_path(shop.folder / "prompts/room.md")} == {"template-unbound"}
    assert lint_path(shop.folder / "skills/deals/SKILL.md") == ()


def test_relative_paths_are_linted_like_absolute_ones(shop, monkeypatch):
    shop.edit("prompts/room.md", "{{ host }}", "{{ hosts }}")
    monkeypatch.chdir(shop.folder / "prompts")
    assert {p.rule for p in lint_path(Path("room.md"))} == {"template-unbound"}
    monkeypatch.chdir(shop.folder)
    assert {p.rule for p in lint_path(Path("."))} == {"template-unbound", "unlocked"}


def test_a_file_outside_of_any_harness_is_judged_by_its_own_format(tmp_path):
    skill = tmp_path / "SKILL.md"
    skill.write_text("---\nname: other\ndescription: x\n---\n# T\n")
    assert {p.rule for p in lint_path(skill)} == {"skill-schema"}
    tool = tmp_path / "anything.json"
    tool.write_text('{"name": "a b", "description": "x", "inputSchema": {"type": "object"}}')
    assert {p.rule for p in lint_path(tool)} == {"illegal-name"}
    hooks = tmp_path / "hooks.json"
    hooks.write_text('{"hooks": {"Stopped": []}}')
    assert {p.rule for p in lint_path(hooks)} == {"hooks-schema"}


def test_what_is_no_part_of_a_harness_is_bad_input(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "a.txt").write_text("x")
    for path in (tmp_path, tmp_path / "a.json", tmp_path / "a.txt", tmp_path / "absent"):
        with pytest.raises(BadInput):
            lint_path(path)


def test_every_rule_is_documented():
    for name, rule in RULES.items():
        assert name == rule.id
        assert len(rule.explanation) > 30
        assert rule.summary
