"""G2: presented names are legal, injective, collide with nothing, and no old name is left where a symbol stands."""

from collections import Counter
from collections.abc import Iterator, Sequence

from hat.augment.naming import LEGAL_NAME
from hat.augment.state import HarnessState
from hat.augment.transforms.names import names_apart, referring_texts
from hat.augment.verify.finding import Finding
from hat.augment.verify.gold import Subject
from hat.harness.model import Harness
from hat.harness.render import render_skill
from hat.harness.symbols import code_spans

_SWAPS_NAMES = "C1"
"""The twin whose point is that an old name stands for something else."""


def check_names(subject: Subject) -> Iterator[Finding]:
    """G2."""
    state = subject.state
    yield from _bad_names("tool", [tool.name for tool in state.presented.tools], "codec.tools")
    yield from _bad_names("skill", [skill.name for skill in state.presented.skills], "codec.skills")
    for tool, schema in subject.presented_schemas.items():
        yield from _bad_schema(tool, schema)
    yield from _collisions(state)
    yield from _ambiguous(state)
    if _SWAPS_NAMES not in state.families:
        yield from _old_names(subject)


def _bad_names(kind: str, names: Sequence[str], surface: str) -> Iterator[Finding]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Finding(name, f"{kind} {name!r} stands for {count} things", surface)
        if not LEGAL_NAME.match(name):
            yield Finding(name, f"{kind} {name!r} is not a legal name", surface)


def _bad_schema(tool: str, schema: object) -> Iterator[Finding]:
    assert isinstance(schema, dict)
    properties = schema.get("properties", {})
    # A mapping cannot hold a name twice: two arguments that became one show as a required one that is missing,
    # or in the round trip (G5).
    yield from _bad_names(f"argument of {tool}", list(properties), "codec.arguments")
    for name in schema.get("required", ()):
        if name not in properties:
            yield Finding(
                name, f"{tool} requires {name!r}, which is not among its arguments", "codec.arguments"
            )


def _collisions(state: HarnessState) -> Iterator[Finding]:
    """Two symbols that had different names must not be presented under one, whatever their kinds."""
    codec = state.codec
    owners: dict[str, set[tuple[str, str]]] = {}
    for tool in state.canonical.tools:
        owners.setdefault(codec.tool(tool.name), set()).add(("tool", tool.name))
        for argument in tool.input_schema.get("properties", {}):
            owners.setdefault(codec.argument(tool.name, argument), set()).add(("argument", argument))
    for skill in state.canonical.skills:
        owners.setdefault(codec.skill(skill.name), set()).add(("skill", skill.name))
    for shown, symbols in owners.items():
        if len({kind for kind, _ in symbols}) > 1 and any(name != shown for _, name in symbols):
            what = " and ".join(f"{kind} {name!r}" for kind, name in sorted(symbols))
            yield Finding(shown, f"{shown!r} stands for {what}")


def _ambiguous(state: HarnessState) -> Iterator[Finding]:
    """A text that names an argument without its tool cannot say which of several presented names it means."""
    apart = names_apart(state)
    for text in referring_texts(state.canonical) if apart else ():
        for _, symbol in code_spans(text):
            if symbol in apart:
                why = f"`{symbol}` stands alone in {text[:60]!r} and is presented as {' and '.join(apart[symbol])}"
                yield Finding(symbol, why, "codec.arguments")


def _old_names(subject: Subject) -> Iterator[Finding]:
    state, codec = subject.state, subject.state.codec
    old_tools = {old for old, new in codec.tools.items() if old != new}
    for tool in state.presented.tools:
        if tool.name in old_tools:
            yield Finding(tool.name, f"the old tool name {tool.name!r} is presented again", "codec.tools")
    old_skills = {old for old, new in codec.skills.items() if old != new}
    for skill in state.presented.skills:
        if skill.name in old_skills:
            yield Finding(skill.name, f"the old skill name {skill.name!r} is presented again", "codec.skills")
    for (tool_name, old), new in codec.arguments.items():
        schema = subject.presented_schemas.get(codec.tool(tool_name), {})
        if old != new and old in schema.get("properties", {}):  # type: ignore[operator]
            why = f"the old argument name {old!r} of {tool_name} is presented again"
            yield Finding(old, why, "codec.arguments")
    for tool_name, _ in state.presented.bindings:
        if tool_name in old_tools:
            yield Finding(tool_name, f"a binding still names the old tool {tool_name!r}", "bindings")
    for hook in state.presented.hooks:
        if hook.matcher in old_tools:
            yield Finding(
                hook.matcher, f"hook {hook.check} still matches the old tool {hook.matcher!r}", "hooks"
            )
    stale = _stale(state)
    if stale:
        for where, text, surface in _rendered(subject):
            for _, symbol in code_spans(text):
                if symbol in stale or not stale.isdisjoint(symbol.split(".")):
                    yield Finding(symbol, f"the old name `{symbol}` is left in {where}", surface)


def _stale(state: HarnessState) -> set[str]:
    """Names that were renamed away and stand for nothing else that is presented; so do ``tool.argument`` as a whole."""
    codec, presented = state.codec, state.presented
    old = {name for name, new in [*codec.tools.items(), *codec.skills.items()] if name != new}
    old |= {name for (_, name), new in codec.arguments.items() if name != new}
    if not old:
        return old
    alive = {tool.name for tool in presented.tools} | {skill.name for skill in presented.skills}
    alive |= {name for tool in presented.tools for name in tool.input_schema.get("properties", {})}
    # What stands in a group, or in no tool's first level for another reason, may still keep its name.
    alive |= {
        codec.argument(tool.name, name)
        for tool in state.canonical.tools
        for name in tool.input_schema.get("properties", {})
    }
    renamed = {f"{codec.tool(tool)}.{name}" for (tool, name), new in codec.arguments.items() if name != new}
    return (old - alive) | renamed


def _rendered(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """Every text that a model may see under the state: what it is, the text, and the surface it comes from."""
    presented = subject.state.presented
    yield from _descriptions(presented)
    for skill in presented.skills:
        yield f"skill {skill.name}", render_skill(presented, skill.name), "skills"
    for hook in presented.hooks:
        yield f"the message of hook {hook.check}", hook.message, "hooks"
    seen: set[str] = set()
    for episode in subject.replays:
        # The gold's own replies may hold any text; what the harness says to it may not.
        for message in episode.messages() if episode else ():
            content = message["content"]
            if message["role"] in ("system", "tool") and content not in seen:
                seen.add(content)
                where = "the system prompt" if message["role"] == "system" else f"the result {content[:60]!r}"
                yield where, content, "blocks"


def _descriptions(presented: Harness) -> Iterator[tuple[str, str, str]]:
    for tool in presented.tools:
        yield f"the description of tool {tool.name}", tool.description, "tools"
        if "`" in tool.input_schema_json:
            yield f"the schema of tool {tool.name}", tool.input_schema_json, "tools"
