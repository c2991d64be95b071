"""The codec between canonical and presented calls: names of tools, arguments and skills, layouts, envelopes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hat.agent.calls import Call
from hat.augment.shapes import Envelope, Shape, UnknownName

__all__ = ["Codec", "Envelope", "Shape", "UnknownName"]


@dataclass(frozen=True)
class Codec:
    """A bijection of names. A name that is absent maps to itself.

    ``arguments`` is keyed by (canonical tool, canonical argument).
    """

    tools: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[tuple[str, str], str] = field(default_factory=dict)
    skills: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """By canonical tool: how its arguments are laid out, where that differs."""
    envelope: Envelope | None = None
    """How results and errors are wrapped; None: as they are."""

    @cached_property
    def _tools_back(self) -> dict[str, str]:
        return {presented: canonical for canonical, presented in self.tools.items()}

    @cached_property
    def _skills_back(self) -> dict[str, str]:
        return {presented: canonical for canonical, presented in self.skills.items()}

    @cached_property
    def _arguments_back(self) -> dict[tuple[str, str], str]:
        return {(tool, presented): canonical for (tool, canonical), presented in self.arguments.items()}

    def tool(self, canonical: str) -> str:
        return self.tools.get(canonical, canonical)

    def skill(self, canonical: str) -> str:
        return self.skills.get(canonical, canonical)

    def argument(self, canonical_tool: str, canonical: str) -> str:
        return self.arguments.get((canonical_tool, canonical), canonical)

    def argument_path(self, canonical_tool: str, canonical: str) -> str:
        """Where the argument stands when presented: its name, after its group's where it has one."""
        shown = self.argument(canonical_tool, canonical)
        shape = self.shapes.get(canonical_tool)
        return shape.path(canonical, shown) if shape else shown

    def tool_back(self, presented: str) -> str:
        """The canonical tool; an old name that was renamed away stands for nothing any more."""
        return _back("tool", presented, self._tools_back, self.tools)

    def skill_back(self, presented: str) -> str:
        return _back("skill", presented, self._skills_back, self.skills)

    def encode(self, call: Call, skill_argument: str | None = None) -> Call:
        """The presented form of a canonical call: its skill, layout and names.

        ``skill_argument`` names the call's canonical argument whose value is a skill, if it has one.
        """
        arguments = dict(call.arguments)
        if skill_argument in arguments and isinstance(arguments[skill_argument], str):
            arguments[skill_argument] = self.skill(arguments[skill_argument])
        shape = self.shapes.get(call.name)
        if shape is None:
            named = {self.argument(call.name, name): value for name, value in arguments.items()}
        else:
            named = shape.encode(arguments, lambda name: self.argument(call.name, name))
        return Call(self.tool(call.name), named)

    def decode(self, call: Call, skill_argument_of: Mapping[str, str]) -> Call:
        """The canonical form of a presented call.

        ``skill_argument_of`` gives, per canonical tool, its canonical argument whose value is a skill.

        Raises:
            UnknownName: a tool, argument or skill name that this state does not have.
        """
        tool = self.tool_back(call.name)
        shape = self.shapes.get(tool)
        if shape is None:
            arguments = {self._argument_back(tool, name): value for name, value in call.arguments.items()}
        else:
            arguments = shape.decode(call.arguments, lambda name: self._argument_back(tool, name))
        skill_argument = skill_argument_of.get(tool)
        if skill_argument in arguments and isinstance(arguments[skill_argument], str):
            arguments[skill_argument] = self.skill_back(arguments[skill_argument])
        return Call(tool, arguments)

    def _argument_back(self, tool: str, presented: str) -> str:
        canonical = self._arguments_back.get((tool, presented))
        if canonical is not None:
            return canonical
        if (tool, presented) in self.arguments:
            raise UnknownName("argument", presented)
        return presented


def _back(kind: str, presented: str, back: Mapping[str, str], forward: Mapping[str, str]) -> str:
    if presented in back:
        return back[presented]
    if presented in forward:
        raise UnknownName(kind, presented)
    return presented
