"""Which names are no longer free in a state."""

from hat.augment.state import HarnessState


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
