"""The codec between canonical names and presented names of tools, arguments and skills."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hat.agent.calls import Call


class UnknownName(Exception):
    """A presented name that stands for nothing in this state."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"unknown {kind} {name!r}")


@dataclass(frozen=True)
class Codec:
    """A bijection of names. A name that is absent maps to itself.

    ``arguments`` is keyed by (canonical tool, canonical argument).
    """

    tools: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[tuple[str, str], str] = field(default_factory=dict)
    skills: Mapping[str, str] = field(default_factory=dict)

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

    def tool_back(self, presented: str) -> str:
        """The canonical tool; an old name that was renamed away stands for nothing any more."""
        return _back("tool", presented, self._tools_back, self.tools)

    def skill_back(self, presented: str) -> str:
        return _back("skill", presented, self._skills_back, self.skills)

    def encode(self, call: Call, skill_argument: str | None = None) -> Call:
        """The presented form of a canonical call.

        ``skill_argument`` names the call's canonical argument whose value is a skill, if it has one.
        """
        arguments = {}
        for name, value in call.arguments.items():
            if name == skill_argument and isinstance(value, str):
                value = self.skill(value)
            arguments[self.argument(call.name, name)] = value
        return Call(self.tool(call.name), arguments)

    def decode(self, call: Call, skill_argument_of: Mapping[str, str]) -> Call:
        """The canonical form of a presented call.

        ``skill_argument_of`` gives, per canonical tool, its canonical argument whose value is a skill.

        Raises:
            UnknownName: a tool, argument or skill name that this state does not have.
        """
        tool = self.tool_back(call.name)
        skill_argument = skill_argument_of.get(tool)
        arguments = {}
        for presented, value in call.arguments.items():
            canonical = self._arguments_back.get((tool, presented))
            if canonical is None:
                if (tool, presented) in self.arguments:
                    raise UnknownName("argument", presented)
                canonical = presented
            if canonical == skill_argument and isinstance(value, str):
                value = self.skill_back(value)
            arguments[canonical] = value
        return Call(tool, arguments)


def _back(kind: str, presented: str, back: Mapping[str, str], forward: Mapping[str, str]) -> str:
    if presented in back:
        return back[presented]
    if presented in forward:
        raise UnknownName(kind, presented)
    return presented
