"""Tool transforms of names, texts and order: T1 rename tools, T2 rename arguments, T3 re-describe, T4 shuffle."""

import json
from collections.abc import Iterator
from dataclasses import replace

from hat.augment.naming import ARGUMENT_STYLES, LEGAL_NAME, TOOL_STYLES, rename
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform, broken_bijection, with_codec, with_harness
from hat.augment.transforms.names import names_apart, referring_texts, taken_names
from hat.augment.transforms.schemas import unsupported
from hat.augment.variants import in_names_of, misdescribed_tool, variants
from hat.harness.model import UNAVAILABLE, Harness, Tool
from hat.harness.reading.schemas import subschemas
from hat.harness.symbols import code_spans

_APART_SHARE = 0.5
"""Share of states whose tools name a shared argument each on its own."""
_KEPT_SHARE = 0.4
"""There, the share of arguments that keep their names where the renaming is not a partial one."""


class RenameTools(Transform):
    family = "T1"
    summary = "rename tools"
    needs = "tools"
    invariant = "a bijection of names, each legal and its own"
    breaks = "a tool's name learnt by heart"
    surfaces = frozenset({"codec.tools"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        taken = taken_names(state)
        style = draw.rng.choice(TOOL_STYLES)
        opaque = draw.rng.random() < draw.config.opaque_share
        # A distractor has no words of the vocabulary: an opaque name would give it away.
        distractors = {name for name, binding in state.canonical.bindings if binding.operation == UNAVAILABLE}
        names = [
            tool.name
            for tool in state.canonical.tools
            if tool.name not in state.codec.tools and tool.name not in distractors
        ]
        if not names:
            raise Skip("there is no tool that has its first name")
        tools = {
            name: rename(name, split=draw.split, style=style, opaque=opaque, taken=taken, rng=draw.rng)
            for name in draw.renamed(names, draw.kept_share())
        }
        return with_codec(state, tools={**state.codec.tools, **tools})

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        yield from broken_bijection(before.codec.tools, after.codec.tools, "tool")
        names = {tool.name for tool in after.canonical.tools}
        for tool, shown in after.codec.tools.items():
            if tool in names and (not LEGAL_NAME.match(shown) or shown in names - {tool}):
                yield f"tool {tool} is presented as {shown}, which is illegal or another's name"


class RenameArguments(Transform):
    family = "T2"
    summary = "rename arguments"
    needs = "a tool with arguments whose schema names each once"
    invariant = (
        "a bijection of names in each tool, each legal and its own; one name where a text names it alone"
    )
    breaks = "an argument's name learnt by heart, and one tool's name for it used in another"
    surfaces = frozenset({"codec.arguments"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        """New names, for all or for some, by chance in one of two ways.

        Together: one for each argument name, whichever tools share it. Apart: each tool keeps the name or has one of
        its own, as when a team renames an argument in one tool only, so that every signature has to be read; a name
        that stands alone in a text goes together even then, since the text could not say which one it means. A partial
        renaming is of the second kind.
        """
        harness = state.canonical
        taken = taken_names(state)
        style = draw.rng.choice(ARGUMENT_STYLES)
        opaque = draw.rng.random() < draw.config.opaque_share
        kept_share = draw.kept_share()
        apart = draw.rng.random() < _APART_SHARE or kept_share > 0
        together = _alone(harness)
        left = {name for tool in harness.tools if unsupported(tool.input_schema) for name in _names(tool)}
        left |= _named_in_schemas(harness)
        free: list[tuple[str, str]] = []
        for tool in harness.tools:
            reason = unsupported(tool.input_schema)
            if reason:
                draw.notes.append(f"the arguments of {tool.name} keep their names: {reason}")
            else:
                # A name that another tool has to keep is kept in all, for the same reason.
                free += [(tool.name, name) for name in _names(tool) if name not in left]
        arguments = dict(state.codec.arguments)
        free = [place for place in free if place not in arguments]
        if not free:
            raise Skip("no tool has an argument that can be renamed")

        def new_name(name: str) -> str:
            return rename(name, split=draw.split, style=style, opaque=opaque, taken=taken, rng=draw.rng)

        always = draw.rng.choice(free)
        shared: dict[str, str] = {}
        for tool_name, name in free:
            if not apart or name in together:
                if name not in shared:
                    keeps = kept_share and name != always[1] and draw.rng.random() < kept_share
                    shared[name] = name if keeps else new_name(name)
                if shared[name] != name:
                    arguments[tool_name, name] = shared[name]
            elif (tool_name, name) == always or draw.rng.random() >= (kept_share or _KEPT_SHARE):
                arguments[tool_name, name] = new_name(name)
        return with_codec(state, arguments=arguments)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        for tool in after.canonical.tools:
            old = {name: shown for (of, name), shown in before.codec.arguments.items() if of == tool.name}
            new = {name: shown for (of, name), shown in after.codec.arguments.items() if of == tool.name}
            yield from broken_bijection(old, new, f"argument of {tool.name}")
            names = set(_names(tool))
            for name, shown in new.items():
                if not LEGAL_NAME.match(shown) or shown in names - {name}:
                    yield f"argument {name} of {tool.name} is presented as {shown}: illegal or another's name"
        alone = _alone(after.canonical)
        for name, shown_names in names_apart(after).items():
            if name in alone:
                yield f"argument {name} stands alone in a text and is presented as {' and '.join(shown_names)}"


class RedescribeTools(Transform):
    family = "T3"
    summary = "describe tools in other words"
    needs = "tools bound to operations for which the bank or the run has words"
    invariant = "the same operation, named by words of its own; names, arguments and order stay"
    breaks = "a tool's description learnt by heart"
    surfaces = frozenset({"tools"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        known = _descriptions(state.canonical, draw)
        if not known:
            raise Skip(f"the bank has no descriptions for tools of domain {state.canonical.domain}")
        always = draw.rng.choice(sorted(known))
        tools = []
        for tool in state.canonical.tools:
            if tool.name in known:
                if tool.name == always or draw.rng.random() < 0.7:
                    words = in_names_of(state.canonical, draw.rng.choice(known[tool.name]))
                    tool = replace(tool, description=words)
            elif state.canonical.binding(tool.name).operation != UNAVAILABLE:
                draw.notes.append(f"the bank has no description for what {tool.name} does")
            tools.append(tool)
        return with_harness(state, tools=tuple(tools))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        if len(before.canonical.tools) != len(after.canonical.tools):
            yield "a tool was lost or added"
        for old, new in zip(before.canonical.tools, after.canonical.tools, strict=False):
            if replace(new, description=old.description) != old:
                yield f"tool {old.name} changed beyond its description"
            elif new != old:
                operation = before.canonical.binding(old.name).operation
                yield from misdescribed_tool(new.description, operation, before.canonical.domain)


class ShuffleTools(Transform):
    family = "T4"
    summary = "shuffle tools and their arguments"
    needs = "two tools, or a tool with two arguments"
    invariant = "the same set of tools, each with the same set of arguments"
    breaks = "a tool's place in the list"
    surfaces = frozenset({"tools"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        if len(state.canonical.tools) < 2 and not any(len(_names(t)) > 1 for t in state.canonical.tools):
            raise Skip("there is nothing to change places")
        tools = [_shuffle_arguments(tool, draw) for tool in state.canonical.tools]
        draw.rng.shuffle(tools)
        return with_harness(state, tools=tuple(tools))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        def content(state: HarnessState) -> list[object]:
            tools = sorted(state.canonical.tools, key=lambda tool: tool.name)
            return [(replace(tool, input_schema_json=""), tool.input_schema) for tool in tools]

        if content(before) != content(after):
            yield "the tools or their schemas are no longer the same set"


def _names(tool: Tool) -> list[str]:
    return list(tool.input_schema.get("properties", {}))


def _descriptions(harness: Harness, draw: Draw) -> dict[str, tuple[str, ...]]:
    """The descriptions to choose from, of each tool that has any."""
    names = {tool.name for tool in harness.tools}
    found = {
        name: variants(
            "tool_descriptions", binding.operation, harness.domain, draw.split, draw.config.wordings
        )
        for name, binding in harness.bindings
        if name in names
    }
    return {name: words for name, words in found.items() if words}


def _shuffle_arguments(tool: Tool, draw: Draw) -> Tool:
    schema = tool.input_schema
    names = list(schema.get("properties", {}))
    if len(names) < 2:
        return tool
    draw.rng.shuffle(names)
    schema["properties"] = {name: schema["properties"][name] for name in names}
    return replace(tool, input_schema_json=json.dumps(schema, ensure_ascii=False))


def _alone(harness: Harness) -> set[str]:
    """What code spans hold: an argument that stands there without its tool means that of every tool that has it."""
    return {span for text in referring_texts(harness) for _, span in code_spans(text)}


def _named_in_schemas(harness: Harness) -> set[str]:
    """Code spans in descriptions inside schemas, which no rename follows."""
    return {
        part
        for tool in harness.tools
        for place, schema in subschemas(tool.input_schema)
        if isinstance(schema.get("description"), str)
        for _, span in code_spans(schema["description"])
        for part in span.split(".")
    }
