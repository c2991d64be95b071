"""A harness state: a harness under canonical names, and the codec under which the model sees it."""

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from hat.agent.calls import Call
from hat.augment.codec import Codec
from hat.files import canonical_json, sha256_text
from hat.harness.model import LOAD_SKILL, LOAD_SKILL_ARGUMENT, Binding, Block, Document, Harness, Hook, Skill
from hat.harness.symbols import rewrite_code_spans

if TYPE_CHECKING:
    from hat.domains.base import Task


@dataclass(frozen=True)
class HarnessState:
    """What an episode runs under.

    ``canonical`` carries every change but names (layout, order, added skills, hook messages);
    ``codec`` carries the names. The model sees `presented`; the executor sees canonical calls only.
    """

    canonical: Harness
    codec: Codec
    base_digest: str
    families: tuple[str, ...] = ()
    seed: int = 0
    split: str = "train"
    user_blocks: tuple[str, ...] = ()
    """Ids of prompt blocks that stand before the question in the user's message, not in the system prompt."""
    task: str = ""
    """Digest of the task that the state was sampled for; empty: for none in particular."""
    only_task: bool = False
    """Whether the state lacks something that other tasks need, so that it is right for `task` alone."""
    regenerates: bool = False
    """Whether gold made under the unchanged harness must be derived again under this state."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Family and reason, for each that found something it does not support."""

    @classmethod
    def original(cls, harness: Harness) -> "HarnessState":
        """The identity state: what production runs."""
        return cls(harness, Codec(), harness.digest)

    @cached_property
    def presented(self) -> Harness:
        """The harness under its presented names, in every place where a symbol stands."""
        return _apply_names(self.canonical, self.codec)

    def serves(self, task: "Task") -> bool:
        """Whether the task can be solved under this state."""
        return not self.only_task or task.digest == self.task

    @cached_property
    def system_harness(self) -> Harness:
        """`presented` with the blocks of the system prompt only."""
        if not self.user_blocks:
            return self.presented
        blocks = tuple(block for block in self.presented.blocks if block.id not in self.user_blocks)
        return replace(self.presented, blocks=blocks)

    @cached_property
    def user_harness(self) -> Harness:
        """`presented` with the blocks that stand in the user's message."""
        blocks = tuple(block for block in self.presented.blocks if block.id in self.user_blocks)
        return replace(self.presented, blocks=blocks)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the presented content and the codec: equal digests present alike."""
        codec: list[Any] = [
            sorted(self.codec.tools.items()),
            sorted((tool, name, shown) for (tool, name), shown in self.codec.arguments.items()),
            sorted(self.codec.skills.items()),
        ]
        parts: list[Any] = [self.base_digest, self.presented.content_digest, codec]
        shapes = {tool: asdict(shape) for tool, shape in self.codec.shapes.items()}
        envelope = asdict(self.codec.envelope) if self.codec.envelope else None
        if shapes or envelope or self.user_blocks:
            parts.append([shapes, envelope, self.user_blocks])
        return sha256_text(canonical_json(parts))

    @cached_property
    def skill_argument_of(self) -> dict[str, str]:
        """Per canonical tool that loads skills: its canonical argument that holds the skill."""
        return {
            tool: argument
            for tool, binding in self.canonical.bindings
            if binding.operation == LOAD_SKILL
            for argument, operation_argument in binding.arguments
            if operation_argument == LOAD_SKILL_ARGUMENT
        }

    def encode(self, call: Call) -> Call:
        return self.codec.encode(call, self.skill_argument_of.get(call.name))

    def decode(self, call: Call) -> Call:
        """Raises `hat.augment.codec.UnknownName`."""
        return self.codec.decode(call, self.skill_argument_of)

    def present_symbol(self, symbol: str) -> str:
        """A canonical tool, argument or skill name as it is presented; any other text as it is.

        Of ``tool.name``, where the tool has no argument of that name, the tool alone is a symbol.
        """
        names = _symbol_names(self.canonical, self.codec)
        tool, dot, rest = symbol.partition(".")
        return names.get(symbol, f"{names.get(tool, tool)}{dot}{rest}")


def _symbol_names(harness: Harness, codec: Codec) -> dict[str, str]:
    """Canonical symbol to presented symbol, for code spans.

    An argument that several tools rename differently is ambiguous without its tool, so only
    ``tool.argument`` refers to it.
    """
    names: dict[str, str] = {}
    presented_arguments: dict[str, set[str]] = {}
    for tool in harness.tools:
        for argument in tool.input_schema.get("properties", {}):
            shown = codec.argument_path(tool.name, argument)
            names[f"{tool.name}.{argument}"] = f"{codec.tool(tool.name)}.{shown}"
            presented_arguments.setdefault(argument, set()).add(shown)
    for argument, shown_names in presented_arguments.items():
        if len(shown_names) == 1:
            names[argument] = next(iter(shown_names))
    names.update({skill.name: codec.skill(skill.name) for skill in harness.skills})
    names.update({tool.name: codec.tool(tool.name) for tool in harness.tools})
    return names


def _apply_names(harness: Harness, codec: Codec) -> Harness:
    if not (codec.tools or codec.arguments or codec.skills or codec.shapes):
        return harness
    names = _symbol_names(harness, codec)

    def text(value: str) -> str:
        return rewrite_code_spans(value, lambda symbol: names.get(symbol, symbol))

    def document(value: Document) -> Document:
        return Document(value.title, tuple(text(item) for item in value.items))

    tools = tuple(
        replace(
            tool,
            name=codec.tool(tool.name),
            description=_tool_description(text(tool.description), tool.name, codec),
            input_schema_json=json.dumps(
                _present_schema(tool.input_schema, tool.name, codec), ensure_ascii=False
            ),
        )
        for tool in harness.tools
    )
    skills = tuple(
        _with(
            skill,
            name=codec.skill(skill.name),
            description=text(skill.description),
            body=document(skill.body),
        )
        for skill in harness.skills
    )
    bindings = tuple(
        (
            codec.tool(tool),
            Binding(
                binding.operation, tuple((codec.argument(tool, name), to) for name, to in binding.arguments)
            ),
        )
        for tool, binding in harness.bindings
    )
    return replace(
        harness,
        tools=tools,
        skills=skills,
        blocks=tuple(_with(block, document=document(block.document)) for block in harness.blocks),
        hooks=tuple(
            _with(
                hook,
                matcher=codec.tool(hook.matcher) if hook.matcher != "*" else "*",
                message=text(hook.message),
            )
            for hook in harness.hooks
        ),
        bindings=bindings,
        files_digest="",
    )


_Part = TypeVar("_Part", Skill, Block, Hook)


def _with(part: _Part, **changes: Any) -> _Part:
    """The part with other values; itself where none differs, so that what is known of it stays known."""
    if all(getattr(part, name) == value for name, value in changes.items()):
        return part
    return replace(part, **changes)


def _tool_description(description: str, tool: str, codec: Codec) -> str:
    """The description; a chat template may show an object without what is in it, so that is said here."""
    shape = codec.shapes.get(tool)
    held = shape.holds(lambda name: codec.argument(tool, name)) if shape else ""
    return "; ".join(part for part in (description, held) if part)


def _present_schema(schema: dict[str, Any], tool: str, codec: Codec) -> dict[str, Any]:
    """The input schema with its top-level properties renamed and laid out; nested objects keep their names."""
    shape = codec.shapes.get(tool)
    if shape is not None:
        return shape.present_schema(schema, lambda name: codec.argument(tool, name))
    presented = dict(schema)
    if "properties" in schema:
        presented["properties"] = {
            codec.argument(tool, name): value for name, value in schema["properties"].items()
        }
    if "required" in schema:
        presented["required"] = [codec.argument(tool, name) for name in schema["required"]]
    return presented
