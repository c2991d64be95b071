"""Tool transforms: T1 rename tools, T2 rename arguments, T4 shuffle tools and arguments."""

import json
from dataclasses import replace

from hat.augment.naming import ARGUMENT_STYLES, TOOL_STYLES, rename
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Transform
from hat.augment.transforms.names import taken_names
from hat.harness.model import Tool


def _rename_tools(state: HarnessState, draw: Draw) -> HarnessState:
    taken = taken_names(state)
    style = draw.rng.choice(TOOL_STYLES)
    opaque = draw.rng.random() < draw.config.opaque_share
    tools = {
        tool.name: rename(tool.name, split=draw.split, style=style, opaque=opaque, taken=taken, rng=draw.rng)
        for tool in state.canonical.tools
        if tool.name not in state.codec.tools
    }
    return replace(state, codec=replace(state.codec, tools={**state.codec.tools, **tools}))


def _rename_arguments(state: HarnessState, draw: Draw) -> HarnessState:
    """One new name per argument name, whichever tools share it, so that a bare reference stays unambiguous."""
    taken = taken_names(state)
    style = draw.rng.choice(ARGUMENT_STYLES)
    opaque = draw.rng.random() < draw.config.opaque_share
    shared: dict[str, str] = {}
    arguments = dict(state.codec.arguments)
    for tool in state.canonical.tools:
        for name in tool.input_schema.get("properties", {}):
            if name not in shared:
                shared[name] = rename(
                    name, split=draw.split, style=style, opaque=opaque, taken=taken, rng=draw.rng
                )
            arguments[tool.name, name] = shared[name]
    return replace(state, codec=replace(state.codec, arguments=arguments))


def _shuffle(state: HarnessState, draw: Draw) -> HarnessState:
    tools = [_shuffle_arguments(tool, draw) for tool in state.canonical.tools]
    draw.rng.shuffle(tools)
    return replace(state, canonical=replace(state.canonical, tools=tuple(tools)))


def _shuffle_arguments(tool: Tool, draw: Draw) -> Tool:
    schema = tool.input_schema
    names = list(schema.get("properties", {}))
    if len(names) < 2:
        return tool
    draw.rng.shuffle(names)
    schema["properties"] = {name: schema["properties"][name] for name in names}
    return replace(tool, input_schema_json=json.dumps(schema, ensure_ascii=False))


T1 = Transform("T1", "rename tools", frozenset({"codec.tools"}), _rename_tools)
T2 = Transform("T2", "rename arguments", frozenset({"codec.arguments"}), _rename_arguments)
T4 = Transform("T4", "shuffle tools and their arguments", frozenset({"tools"}), _shuffle)
