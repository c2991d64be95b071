"""Which names are no longer free in a state, and the texts that may refer to names."""

from collections.abc import Iterator

from hat.augment.state import HarnessState
from hat.harness.model import Harness


def taken_names(state: HarnessState) -> set[str]:
    """All canonical and presented names of tools, arguments and skills: a new name must differ from each."""
    harness, codec = state.canonical, state.codec
    taken = {tool.name for tool in harness.tools} | {skill.name for skill in harness.skills}
    taken |= {argument for tool in harness.tools for argument in tool.input_schema.get("properties", {})}
    taken |= set(codec.tools.values()) | set(codec.skills.values()) | set(codec.arguments.values())
    for shape in codec.shapes.values():
        taken |= {shape.group} if shape.group else set()
        taken |= {shown for _, names in shape.flattened for _, shown in names}
        taken |= {name for name, _ in shape.extra}
    return taken


def referring_texts(harness: Harness) -> Iterator[str]:
    """The texts whose code spans follow a renaming."""
    for block in harness.blocks:
        yield from block.document.items
    for skill in harness.skills:
        yield skill.description
        yield from skill.body.items
    for tool in harness.tools:
        yield tool.description
    for hook in harness.hooks:
        yield hook.message


def names_apart(state: HarnessState) -> dict[str, list[str]]:
    """Canonical argument names that tools present differently, each with its presented names, sorted."""
    shown: dict[str, set[str]] = {}
    for tool in state.canonical.tools:
        for argument in tool.input_schema.get("properties", {}):
            shown.setdefault(argument, set()).add(state.codec.argument(tool.name, argument))
    return {argument: sorted(names) for argument, names in shown.items() if len(names) > 1}
