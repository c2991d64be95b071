"""Imports of what teams have, and the way back: semantically equal files, nothing dropped, nothing half-written."""

import json
import shutil
from pathlib import Path

import pytest

from hat.augment.config import DEFAULT_FAMILIES, AugmentConfig
from hat.augment.plan import expert_gold, prove_states, sample_states
from hat.domains.base import domain_of
from hat.errors import BadInput
from hat.harness.exchange.exports import export_harness
from hat.harness.exchange.imports import import_harness
from hat.harness.lint import lint_path
from hat.harness.problems import BadHarness
from hat.harness.registry import Registry

FILES = Path(__file__).parents[4] / "shared" / "data" / "harness_files"
needs_files = pytest.mark.skipif(
    not FILES.is_dir(), reason="the shared harness files are not beside this repository"
)
TOOL = {
    "name": "find_user",
    "title": "Find",
    "description": "Find a user by `name`. Uses `page_id` too.",
    "inputSchema": {
        "type": "object",
        "properties": {"who": {"$ref": "#/$defs/Who"}, "page": {"type": "integer", "minimum": 1}},
        "required": ["who"],
        "$defs": {
            "Who": {
                "anyOf": [
                    {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                    {"type": "object", "properties": {"boss": {"$ref": "#/$defs/Who"}}, "required": ["boss"]},
                ]
            }
        },
    },
    "annotations": {"readOnlyHint": True},
    "execution": {"taskSupport": "optional"},
    "icons": [{"src": "https://example.org/i.png"}],
}
UNION = {
    "name": "find_resource",
    "description": "Find by id or name",
    "inputSchema": {
        "type": "object",
        "properties": {"depth": {"type": "integer"}},
        "oneOf": [
            {"properties": {"id": {"type": "string"}}, "required": ["id"], "not": {"required": ["name"]}},
            {"properties": {"name": {"type": "string"}}, "required": ["name"], "not": {"required": ["id"]}},
        ],
    },
}


def tools_file(folder, value):
    path = folder / "list.json"
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def errors(folder):
    return [problem for problem in lint_path(folder) if problem.severity == "error"]


def gates_hold(registry, name, count=6, families=DEFAULT_FAMILIES):
    harness = registry.load(name)
    config = AugmentConfig(states=count, original_share=0, families=families)
    states = sample_states(harness, count=count, run_seed=0, split="train", config=config)
    gold = expert_gold(harness, domain_of(harness), "train")
    return prove_states(states, harness, config, gold).failures == ()


def contents(root):
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root): (path.read_bytes(), path.stat().st_mode & 0o100) for path in files}


@pytest.fixture
def registry(tmp_path):
    return Registry(tmp_path / "registry")


@pytest.fixture
def plugin(tmp_path):
    folder = tmp_path / "plugin"
    files = {
        ".claude-plugin/plugin.json": '{"name": "desk", "version": "0.3.0", "x-more": [1]}',
        "skills/refunds/SKILL.md": "---\nname: refunds\ndescription: Refund a buyer\nlicense: MIT\n---\n"
        "# Refunds\n\n## Steps\n\n1. Ask `order`.\n\n```sh\nrefund --all\n```\n",
        "skills/refunds/scripts/refund.sh": "#!/bin/sh\nexit 0\n",
        "commands/refund.md": "Refund it.\n",
        "hooks/hooks.json": '{"description": "d", "hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "id": "a",'
        ' "hooks": [{"type": "command", "command": "exit 2", "timeout": 5}]}],'
        ' "SessionStart": [{"hooks": [{"type": "prompt", "prompt": "hi"}]}]}}',
        ".mcp.json": '{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "skills/refunds/scripts/refund.sh").chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "document",
    [
        {"tools": [TOOL, UNION]},
        {"jsonrpc": "2.0", "id": 7, "result": {"resultType": "complete", "tools": [TOOL], "ttlMs": 5}},
    ],
)
def test_a_tools_list_comes_back_as_it_was(registry, tmp_path, document):
    folder = import_harness(registry, tools_file(tmp_path, document), "users", "1.0.0")
    assert errors(folder) == []
    assert export_harness(folder, tmp_path / "out.json") == "tools-list"
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == document


def test_a_plugin_comes_back_byte_for_byte(registry, plugin, tmp_path):
    folder = import_harness(registry, plugin, "desk", "1.0.0")
    assert errors(folder) == []
    assert export_harness(folder, tmp_path / "out") == "plugin"
    before, after = (
        {
            path.relative_to(root): (path.read_bytes(), path.stat().st_mode & 0o100)
            for path in root.rglob("*")
            if path.is_file()
        }
        for root in (plugin, tmp_path / "out")
    )
    assert after == before


def test_an_edit_after_the_import_is_in_the_export(registry, plugin, tmp_path):
    folder = import_harness(registry, plugin, "desk", "1.0.0")
    path = folder / "skills/refunds/SKILL.md"
    path.write_text(path.read_text().replace("Refund a buyer", "Give money back"))
    export_harness(folder, tmp_path / "out")
    assert "Give money back" in (tmp_path / "out/skills/refunds/SKILL.md").read_text()


def test_recursive_and_union_schemas_keep_every_gate(registry, tmp_path):
    import_harness(registry, tools_file(tmp_path, {"tools": [TOOL, UNION]}), "users", "1.0.0")
    assert gates_hold(registry, "users")


def test_an_argument_that_a_schemas_description_names_keeps_every_gate(registry, tmp_path):
    properties = {
        "sort": {"type": "object", "properties": {"by": {"type": "string", "description": "Needs `sort`"}}},
        "name": {"type": "string"},
    }
    tool = {**TOOL, "inputSchema": {"type": "object", "properties": properties, "required": ["name"]}}
    import_harness(registry, tools_file(tmp_path, {"tools": [tool]}), "users", "1.0.0")
    assert gates_hold(registry, "users", count=16, families=("T2",))


def test_a_plugin_without_tools_keeps_every_gate(registry, plugin):
    import_harness(registry, plugin, "desk", "1.0.0")
    assert gates_hold(registry, "desk")


def test_a_second_import_has_the_first_as_its_parent(registry, tmp_path):
    path = tools_file(tmp_path, {"tools": [TOOL]})
    import_harness(registry, path, "users", "1.0.0")
    import_harness(registry, path, "users", "1.1.0")
    assert registry.load("users").parent == "1.0.0"
    with pytest.raises(BadInput, match="does not come after"):
        import_harness(registry, path, "users", "1.0.1")
    with pytest.raises(BadInput, match="exists already"):
        import_harness(registry, path, "users", "1.1.0")


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({"tools": [TOOL, TOOL]}, "duplicate-name"),
        ({"tools": [{**TOOL, "name": "a b"}]}, "illegal-name"),
        ({"tools": [{**TOOL, "name": "../../etc/x"}]}, "illegal-name"),
        ({"tools": [{**TOOL, "name": "sto\u202eck"}]}, "illegal-name"),
        ({"tools": []}, "tool-schema"),
        ({"tools": [3]}, "tool-schema"),
    ],
)
def test_a_list_that_breaks_the_format_is_refused_and_nothing_is_written(registry, tmp_path, document, rule):
    with pytest.raises(BadHarness) as caught:
        import_harness(registry, tools_file(tmp_path, document), "users", "1.0.0")
    assert rule in {problem.rule for problem in caught.value.problems}
    assert not registry.root.exists()


def test_a_link_in_a_plugin_is_refused(registry, plugin, tmp_path):
    (tmp_path / "secret").write_text("x")
    (plugin / "skills/refunds/more.md").symlink_to(tmp_path / "secret")
    with pytest.raises(BadHarness, match="symlink"):
        import_harness(registry, plugin, "desk", "1.0.0")


def test_a_tool_that_is_called_like_what_the_import_adds_keeps_its_name(registry, tmp_path):
    tools = [{**TOOL, "name": name} for name in ("load_skill", "null", "1e3")]
    folder = import_harness(registry, tools_file(tmp_path, {"tools": tools}), "users", "1.0.0")
    assert errors(folder) == []
    assert [tool.name for tool in registry.load("users").tools] == [
        "load_skill_2",
        "load_skill",
        "null",
        "1e3",
    ]


@needs_files
@pytest.mark.parametrize("name", ["notion", "git", "everything", "fetch", "time"])
def test_a_public_servers_tools_are_imported_proven_and_exported(registry, tmp_path, name):
    source = FILES / f"tools__list__{name}.tools.json"
    folder = import_harness(registry, source, name, "1.0.0")
    assert errors(folder) == []
    assert gates_hold(registry, name, count=3)
    export_harness(folder, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(source.read_text())


@needs_files
def test_a_plugin_of_public_files_is_imported_proven_and_exported(registry, tmp_path):
    ecc = "affaan-m__everything-claude-code__"
    plugin = tmp_path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "shop-ops"}')
    for skill in ("customer-billing-ops", "repo-scan", "returns-reverse-logistics"):
        (plugin / "skills" / skill).mkdir(parents=True)
        shutil.copy(FILES / f"{ecc}skills__{skill}__SKILL.md", plugin / "skills" / skill / "SKILL.md")
    (plugin / "hooks").mkdir()
    shutil.copy(FILES / f"{ecc}hooks__hooks.json", plugin / "hooks/hooks.json")
    folder = import_harness(registry, plugin, "shop-ops", "1.0.0")
    assert errors(folder) == []
    assert gates_hold(registry, "shop-ops", count=3)
    export_harness(folder, tmp_path / "out")
    for path in plugin.rglob("*.*"):
        if path.is_file():
            assert (tmp_path / "out" / path.relative_to(plugin)).read_bytes() == path.read_bytes()


SERVER = {"command": "uvx", "args": ["mcp-server-git"]}


@pytest.mark.parametrize(
    ("document", "said", "mended"),
    [
        (
            {"mcpServers": {"git": SERVER}},
            "configuration of an MCP client: it names servers (git)",
            "--server git",
        ),
        (
            {"servers": {"my git": SERVER}, "inputs": []},
            "configuration of an MCP client",
            "--server 'my git'",
        ),
        (
            {"a": SERVER, "b": {"url": "http://b"}, "c": SERVER, "d": SERVER},
            "(a, b, c and 1 more)",
            "tools/list",
        ),
        ({"mcpServers": {}}, "configuration of an MCP client", "--server NAME"),
        ([TOOL], "a bare list", '{"tools": [...]}'),
        ({"hooks": {"PreToolUse": []}}, "a hooks file", "plugin folder"),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no such method"}},
            "no such method",
            "again",
        ),
        ({"openapi": "3.1.0", "paths": {}}, "neither a tools/list result nor a tool", "inputSchema"),
    ],
)
def test_a_file_of_another_kind_is_called_what_it_is(registry, tmp_path, document, said, mended):
    with pytest.raises(BadInput) as caught:
        import_harness(registry, tools_file(tmp_path, document), "users", "1.0.0")
    assert said in str(caught.value)
    assert mended in caught.value.mend
    assert not registry.root.exists()
