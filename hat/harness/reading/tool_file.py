"""MCP Tool objects with checked schemas, one a file or many in a ``tools/list`` result (2025-11-25, 2026-07-28)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hat.harness.model import Tool
from hat.harness.problems import Problems
from hat.harness.reading.lined import Lined
from hat.harness.reading.names import shown, tool_name_problem
from hat.harness.reading.schemas import check_schema
from hat.harness.reading.strict_json import parse_json

_DESCRIBING_KEYS = {"name", "title", "description", "icons", "annotations", "_meta"}
_KEYS = _DESCRIBING_KEYS | {"inputSchema", "outputSchema", "execution"}
_LIST_KEYS = {"tools", "nextCursor", "_meta", "resultType", "ttlMs", "cacheScope"}
"""Keys of a ``tools/list`` result; the last three are of 2026-07-28."""


@dataclass(frozen=True)
class ToolFile:
    """A tool and where its parts were written."""

    tool: Tool
    source: Lined
    path: Path


def parse_tool(text: str, path: Path, problems: Problems, *, named: bool = True) -> ToolFile | None:
    """The tool of a file; None when it is not one. The file must be named after the tool, if ``named``."""
    source = parse_json(text, path, problems)
    return None if source is None else check_tool(source, path, problems, path.stem if named else None)


def check_tool(source: Lined, path: Path, problems: Problems, expected: str | None = None) -> ToolFile | None:
    """The tool of a parsed object; None when it is not one. With ``expected``, it must have that name."""
    value = source.value
    if not isinstance(value, dict):
        problems.add("tool-schema", path, "a tool is a JSON object", source.line())
        return None
    before = len(problems.errors)
    _check_name(value.get("name"), expected, source, path, problems)
    for key in ("title", "description"):
        if not isinstance(value.get(key, ""), str):
            problems.add("tool-schema", path, f"{key} must be text", source.line(key))
    if not value.get("description"):
        message = "there is no description: a model has only the name to choose by"
        problems.add("tool-description", path, message, source.line("name"))
    if not isinstance(value.get("annotations", {}), dict):
        problems.add("tool-schema", path, "annotations must be an object", source.line("annotations"))
    for key in sorted(set(value) - _KEYS):
        problems.add("tool-unknown-key", path, f"{shown(key)} is no key of a tool", source.line(key))
    _check_input(value, source, path, problems)
    if value.get("outputSchema") is not None:
        check_schema(source, ("outputSchema",), path, problems)
    if len(problems.errors) > before:
        return None
    output = value.get("outputSchema")
    tool = Tool(
        name=value["name"],
        description=value.get("description", ""),
        input_schema_json=json.dumps(value["inputSchema"], ensure_ascii=False),
        title=value.get("title", ""),
        output_schema_json=None if output is None else json.dumps(output, ensure_ascii=False),
        annotations_json=json.dumps(value.get("annotations", {}), ensure_ascii=False),
    )
    return ToolFile(tool, source, path)


def _check_name(name: Any, expected: str | None, source: Lined, path: Path, problems: Problems) -> None:
    if not isinstance(name, str):
        problems.add("tool-schema", path, "name is missing or not text", source.line("name"))
        return
    wrong = tool_name_problem(name)
    if wrong:
        problems.add("illegal-name", path, wrong, source.line("name"))
    elif expected is not None and name != expected:
        problems.add(
            "tool-schema", path, f"the name {shown(name)} differs from the file's", source.line("name")
        )


def _check_input(value: dict[str, Any], source: Lined, path: Path, problems: Problems) -> None:
    schema = value.get("inputSchema")
    if not isinstance(schema, dict):
        problems.add(
            "tool-schema", path, "inputSchema is missing or not an object", source.line("inputSchema")
        )
        return
    if schema.get("type") != "object":
        message = 'inputSchema must have "type": "object" at its root'
        problems.add("tool-schema", path, message, source.line("inputSchema", "type"))
    check_schema(source, ("inputSchema",), path, problems)
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return
    for argument in properties:
        wrong = tool_name_problem(argument)
        if wrong:
            line = source.line("inputSchema", "properties", argument)
            problems.add("illegal-name", path, f"argument {wrong}", line)
    required = schema.get("required", [])
    for index, argument in enumerate(required if isinstance(required, list) else []):
        if isinstance(argument, str) and argument not in properties:
            line = source.line("inputSchema", "required", index)
            problems.add("required-undeclared", path, f"{shown(argument)} is required but not declared", line)


def list_place(value: Any) -> tuple[str, ...] | None:
    """Where the tools stand in a ``tools/list`` result or the response that carries it; None when it is neither."""
    if isinstance(value, dict):
        if isinstance(value.get("tools"), list):
            return ("tools",)
        result = value.get("result")
        if isinstance(result, dict) and isinstance(result.get("tools"), list):
            return ("result", "tools")
    return None


def check_tools_list(source: Lined, path: Path, problems: Problems) -> tuple[ToolFile, ...]:
    """The tools of a ``tools/list`` result, as far as each is one; every problem is noted."""
    place = list_place(source.value)
    if place is None:
        problems.add("tool-schema", path, "no list under `tools`: not a result of tools/list")
        return ()
    holder = source.part(*place[:-1])
    for key in sorted(set(holder.value) - _LIST_KEYS):
        problems.add(
            "tool-unknown-key", path, f"{shown(key)} is no key of a tools/list result", holder.line(key)
        )
    if holder.value.get("nextCursor"):
        message = "nextCursor: more tools follow on a page that is not here"
        problems.add("tools-incomplete", path, message, holder.line("nextCursor"))
    seen: dict[str, int] = {}
    tools = []
    for entry in source.parts(*place):
        tool = check_tool(entry, path, problems)
        name = entry.value.get("name") if isinstance(entry.value, dict) else None
        if isinstance(name, str):
            if name in seen:
                message = f"a tool on line {seen[name]} is called {shown(name)}, too"
                problems.add("duplicate-name", path, message, entry.line("name"))
            seen.setdefault(name, entry.line("name"))
        if tool is not None:
            tools.append(tool)
    return tuple(tools)
