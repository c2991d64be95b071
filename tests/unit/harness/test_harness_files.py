"""Real files from public repositories: each loads or is refused by the right rule at the right line."""

from pathlib import Path

import pytest

from hat.harness.lint import lint_path

FILES = Path(__file__).parents[4] / "shared" / "data" / "harness_files"
pytestmark = pytest.mark.skipif(
    not FILES.is_dir(), reason="the shared harness files are not beside this repository"
)
_ECC = "affaan-m__everything-claude-code__"
_MCP = "modelcontextprotocol__modelcontextprotocol__schema__2026-07-28__examples__Tool__"

EXPECTED = {
    f"{_ECC}docs__ja-JP__skills__returns-reverse-logistics__SKILL.md": [("yaml-syntax", 3)],
    f"{_ECC}docs__zh-CN__skills__inventory-demand-planning__SKILL.md": [("yaml-syntax", 3)],
    f"{_ECC}docs__zh-CN__skills__logistics-exception-management__SKILL.md": [("yaml-syntax", 3)],
    f"{_ECC}docs__tr__skills__laravel-verification__SKILL.md": [("yaml-syntax", 3)],
    f"{_ECC}docs__zh-CN__skills__browser-qa__SKILL.md": [("front-matter", 1)],
    f"{_ECC}skills__flox-environments__SKILL.md": [("skill-schema", 3)],
    f"{_ECC}skills__customer-billing-ops__SKILL.md": [],
    f"{_ECC}skills__repo-scan__SKILL.md": [],
    f"{_ECC}skills__returns-reverse-logistics__SKILL.md": [],
    f"{_MCP}tool-with-composition-input-schema.json": [],
    f"{_MCP}with-default-2020-12-input-schema.json": [],
    f"{_MCP}with-no-parameters.json": [],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_public_skill_or_tool_gets_the_expected_errors(name):
    errors = [(p.rule, p.line) for p in lint_path(FILES / name) if p.severity == "error"]
    assert errors == EXPECTED[name]


def test_camel_case_events_of_another_product_are_refused_at_their_line():
    problems = lint_path(FILES / f"{_ECC}.cursor__hooks.json")
    assert ("hooks-schema", 4) in {(p.rule, p.line) for p in problems}
