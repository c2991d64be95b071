"""Reading what is imported: the files it becomes in a version folder, and the names it brings."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hat.errors import BadInput
from hat.harness.load import HOOKS, SOURCE
from hat.harness.problems import BadHarness, Problems
from hat.harness.reading.bundle import list_files, read_source
from hat.harness.reading.hooks_file import parse_hooks
from hat.harness.reading.mcp_servers import check_servers, configured_servers
from hat.harness.reading.plugin_file import PLUGIN_FILE, read_plugin
from hat.harness.reading.skill_file import parse_skill
from hat.harness.reading.strict_json import parse_json
from hat.harness.reading.tool_file import ToolFile, check_tool, check_tools_list, list_place

Kind = Literal["tools-list", "plugin"]
LIST_FILE = f"{SOURCE}/list.json"
PLUGIN_FOLDER = f"{SOURCE}/plugin"
_ASK = "`npx @modelcontextprotocol/inspector"
"""The protocol's own inspector; nothing here starts a server."""


@dataclass(frozen=True)
class Source:
    """An import before anything is written."""

    kind: Kind
    said: str
    """What it calls or says of itself, for `changed`."""
    files: dict[str, bytes]
    """By path in the version folder."""
    executable: frozenset[str]
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    has_hooks: bool = False


def read_import(path: Path) -> Source:
    """The source at ``path``: a plugin folder, or a file with a ``tools/list`` result or one tool.

    Raises:
        BadInput: there is nothing, or nothing that can be imported.
        BadHarness: it breaks its format; every problem is named.
    """
    problems = Problems()
    if path.is_dir():
        if not (path / PLUGIN_FILE).is_file():
            mend = (
                f"A plugin has {PLUGIN_FILE}; tools are imported from the JSON file of a tools/list result."
            )
            raise BadInput("not a plugin folder", where=str(path), mend=mend)
        source = _read_plugin(path, problems)
    elif path.is_file():
        source = _read_tools(path, problems)
    else:
        raise BadInput("no such file or folder", where=str(path))
    if problems.errors or source is None:
        raise BadHarness(problems.sorted(), where=str(path))
    return source


def _read_tools(path: Path, problems: Problems) -> Source | None:
    text = read_source(path, problems)
    parsed = None if text is None else parse_json(text, path, problems)
    if parsed is None:
        return None
    place = list_place(parsed.value)
    if place is None:
        _refuse_other_formats(parsed.value, path)
        tool = check_tool(parsed, path, problems)
        tools: tuple[ToolFile, ...] = () if tool is None else (tool,)
        envelope: Any = None
    else:
        tools = check_tools_list(parsed, path, problems)
        envelope = _emptied(parsed.value, place)
        if not tools and not problems.errors:
            problems.add("tool-schema", path, "the list has no tools", parsed.line(*place))
    files = {f"tools/{entry.tool.name}.json": _bytes(entry.source.value) for entry in tools}
    if envelope is not None:
        files[LIST_FILE] = _bytes(envelope)
    names = tuple(entry.tool.name for entry in tools)
    return Source("tools-list", f"Imported from the tools of {path.name}.", files, frozenset(), names)


def _read_plugin(folder: Path, problems: Problems) -> Source | None:
    manifest = read_plugin(folder, problems)
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    skills: list[str] = []
    has_hooks = False
    for path in list_files(folder, problems):
        name = path.relative_to(folder).as_posix()
        if name.startswith(".git/"):
            continue
        parts = name.split("/")
        target = f"{PLUGIN_FOLDER}/{name}"
        if parts[0] == "skills" and len(parts) > 2:
            target = name
            if len(parts) == 3 and parts[2] == "SKILL.md":
                text = read_source(path, problems)
                skill = None if text is None else parse_skill(text, path, problems)
                if skill is not None:
                    skills.append(skill.skill.name)
        elif name == HOOKS:
            target, has_hooks = name, True
            text = read_source(path, problems)
            if text is not None:
                parse_hooks(text, path, problems)
        elif name == ".mcp.json":
            text = read_source(path, problems)
            servers = None if text is None else parse_json(text, path, problems)
            if servers is not None:
                check_servers(servers, path, problems)
        files[target] = path.read_bytes()
        if path.stat().st_mode & 0o100:
            executable.add(target)
    if manifest is None:
        return None
    said = f"Imported from the plugin {manifest.name}{f' {manifest.version}' if manifest.version else ''}."
    return Source("plugin", said, files, frozenset(executable), (), tuple(sorted(skills)), has_hooks)


def _refuse_other_formats(value: Any, path: Path) -> None:
    """Say what the file is, where it is one that people take for a list of tools."""
    servers = configured_servers(value)
    if servers is not None:
        server = servers[0] if servers else "NAME"
        named = f"names servers ({_few(servers)})" if servers else "can name servers"
        raise BadInput(
            f"this is the configuration of an MCP client: it {named}, not their tools",
            where=str(path),
            mend=f"{_ASK} --cli --config {shlex.quote(str(path))} --server {shlex.quote(server)} "
            "--method tools/list > tools.json` starts a server and asks it; then import tools.json.",
        )
    if isinstance(value, list):
        raise BadInput(
            "this is a bare list, not the result of tools/list",
            where=str(path),
            mend='Write it as {"tools": [...]}, each tool with "name", "description" and "inputSchema".',
        )
    if isinstance(value, dict) and "hooks" in value:
        raise BadInput(
            "this is a hooks file", where=str(path), mend="Import the plugin folder it belongs to."
        )
    if isinstance(value, dict) and "error" in value and "jsonrpc" in value:
        message = value["error"].get("message") if isinstance(value["error"], dict) else value["error"]
        raise BadInput(
            f"this is a server's error, not its tools: {str(message)[:200]!r}",
            where=str(path),
            mend="Ask the server again.",
        )
    if isinstance(value, dict) and not {"name", "inputSchema"} & set(value):
        raise BadInput(
            "neither a tools/list result nor a tool",
            where=str(path),
            mend='A tools/list result has a list under "tools"; a tool has "name" and "inputSchema".',
        )


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _emptied(value: Any, place: tuple[str, ...]) -> Any:
    """The result with its list of tools empty: the tools have files of their own."""
    if not place:
        return []
    return {key: _emptied(inner, place[1:]) if key == place[0] else inner for key, inner in value.items()}


def _bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
