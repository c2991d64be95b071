"""Real files from public repositories: each loads or is refused by the right rule at the right line."""

import json
from pathlib import Path

import pytest

from hat.harness.lint import lint_path

FILES = Path(__file__).parents[4] / "shared" / "data" / "harness_files"
pytestmark = pytest.mark.skipif(
    not FILES.is_dir(), reason="the shared harness files are not beside this repository"
)
_ECC = "affaan-m__everything-claude-code__"
_MCP = "modelcontextprotocol__modelcontextprotocol__schema__2026-07-28__examples__"
_GITHUB = "github__github-mcp-server__pkg__github____toolsnaps____"

EXPECTED: dict[str, tuple[set[str], list[tuple[str, int]]]] = {
    f"{_ECC}docs__ja-JP__skills__returns-reverse-logistics__SKILL.md": (
        {"yaml-syntax"},
        [("yaml-syntax", 3)],
    ),
    f"{_ECC}skills__returns-reverse-logistics__SKILL.md": ({"document-structure", "skill-unknown-key"}, []),
    f"{_ECC}docs__zh-CN__skills__inventory-demand-planning__SKILL.md": (
        {"yaml-syntax"},
        [("yaml-syntax", 3)],
    ),
    f"{_ECC}docs__zh-CN__skills__logistics-exception-management__SKILL.md": (
        {"yaml-syntax"},
        [("yaml-syntax", 3)],
    ),
    f"{_ECC}docs__tr__skills__laravel-verification__SKILL.md": ({"yaml-syntax"}, [("yaml-syntax", 3)]),
    f"{_ECC}docs__zh-CN__skills__browser-qa__SKILL.md": ({"front-matter"}, [("front-matter", 1)]),
    f"{_ECC}skills__repo-scan__SKILL.md": ({"document-structure", "skill-unknown-key"}, []),
    f"{_ECC}skills__flox-environments__SKILL.md": (
        {"document-structure", "skill-schema", "skill-unknown-key"},
        [("skill-schema", 3)],
    ),
    f"{_ECC}skills__customer-billing-ops__SKILL.md": ({"document-structure", "skill-unknown-key"}, []),
    f"{_ECC}hooks__hooks.json": ({"hook-kept", "hook-command"}, []),
    f"{_ECC}.cursor__hooks.json": ({"hooks-layout"}, [("hooks-layout", 4)]),
    f"{_ECC}hooks__memory-persistence__hooks.json": ({"hooks-layout"}, [("hooks-layout", 3)]),
    f"{_ECC}mcp-configs__mcp-servers.json": (set(), []),
    f"{_MCP}Tool__tool-with-composition-input-schema.json": (set(), []),
    f"{_MCP}Tool__with-default-2020-12-input-schema.json": (set(), []),
    f"{_MCP}Tool__with-no-parameters.json": (set(), []),
    f"{_MCP}ListToolsResultResponse__list-tools-result-response.json": ({"tools-incomplete"}, []),
    "modelcontextprotocol__servers__.mcp.json": (set(), []),
    f"{_GITHUB}projects_write.snap": (set(), []),
    f"{_GITHUB}issue_write.snap": (set(), []),
    f"{_GITHUB}actions_list.snap": (set(), []),
    f"{_GITHUB}issue_dependency_write_ff_issue_dependencies.snap": (set(), []),
    f"{_GITHUB}get_me.snap": (set(), []),
    "tools__list__everything.tools.json": (set(), []),
    "tools__list__fetch.tools.json": (set(), []),
    "tools__list__git.tools.json": (set(), []),
    "tools__list__notion.tools.json": (set(), []),
    "tools__list__time.tools.json": (set(), []),
}
"""File to the ids of all rules that fire, and the errors with their lines."""


def test_the_table_has_every_file_of_the_manifest():
    manifest = json.loads((FILES / "MANIFEST.json").read_text(encoding="utf-8"))
    assert {entry["file"] for entry in manifest} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_public_file_gets_the_expected_rules(name):
    rules, errors = EXPECTED[name]
    problems = lint_path(FILES / name)
    assert {problem.rule for problem in problems} == rules
    assert [(p.rule, p.line) for p in problems if p.severity == "error"] == errors
