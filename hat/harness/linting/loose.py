"""Files from anywhere, each judged by its own public format: skills, tools, tools/list results, hooks, plugins."""

from pathlib import Path

from hat.errors import BadInput
from hat.harness.linting.content import check_text
from hat.harness.problems import Problem, Problems
from hat.harness.reading.bundle import list_files, read_source
from hat.harness.reading.hooks_file import check_hooks_file
from hat.harness.reading.mcp_servers import check_servers, servers_place
from hat.harness.reading.plugin_file import PLUGIN_FILE, read_plugin
from hat.harness.reading.skill_file import parse_skill
from hat.harness.reading.strict_json import parse_json
from hat.harness.reading.tool_file import check_tool, check_tools_list, list_place

_SERVERS_FILE = ".mcp.json"


def lint_loose_file(path: Path) -> tuple[Problem, ...]:
    """The problems of one file; which format it has is told by its name and, for JSON, by its keys.

    Raises:
        BadInput: it has none of the formats of a harness.
    """
    problems = Problems()
    text = read_source(path, problems)
    if text is None:
        return problems.sorted()
    if path.name.endswith("SKILL.md") or (path.suffix == ".md" and text.startswith("---\n")):
        parse_skill(text, path, problems, named=path.name == "SKILL.md")
    elif path.suffix == ".json" or text.lstrip()[:1] in ("{", "["):
        _check_json(text, path, problems)
    else:
        raise BadInput(
            "not a file of a harness",
            where=str(path),
            mend="Give a folder, a SKILL.md, or JSON: a tool, a tools/list result, hooks.json or .mcp.json.",
        )
    check_text(text, path, problems)
    return problems.sorted()


def lint_plugin(folder: Path) -> tuple[Problem, ...]:
    """The problems of a folder in the public plugin layout.

    Raises:
        EnvironmentFailure: the system refuses to read it.
    """
    problems = Problems()
    files = list_files(folder, problems)
    read_plugin(folder, problems)
    for path in files:
        name = path.relative_to(folder).as_posix()
        parts = name.split("/")
        is_skill = len(parts) == 3 and parts[0] == "skills" and parts[2] == "SKILL.md"
        if not is_skill and name not in ("hooks/hooks.json", _SERVERS_FILE, PLUGIN_FILE):
            continue
        text = read_source(path, Problems() if name == PLUGIN_FILE else problems)
        if text is None:
            continue
        if is_skill:
            parse_skill(text, path, problems)
        elif name != PLUGIN_FILE:
            _check_json(text, path, problems)
        check_text(text, path, problems)
    return problems.sorted()


def _check_json(text: str, path: Path, problems: Problems) -> None:
    source = parse_json(text, path, problems)
    if source is None:
        return
    value = source.value
    keys = set(value) if isinstance(value, dict) else set()
    if path.name.endswith("hooks.json") or "hooks" in keys:
        check_hooks_file(source, path, problems)
    elif list_place(value) is not None:
        check_tools_list(source, path, problems)
    elif path.name.endswith(_SERVERS_FILE) or "mcpServers" in keys:
        check_servers(source, path, problems)
    elif keys & {"name", "inputSchema"}:
        check_tool(source, path, problems)
    elif servers_place(value) is not None:
        check_servers(source, path, problems)
    else:
        raise BadInput(
            "no tool, tools/list result, hooks or MCP servers",
            where=str(path),
            mend="These are the JSON files of a harness.",
        )
