"""The harness as a frozen value: tools, skills, prompt blocks, hooks, limits and bindings."""

import json
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from typing import Any, Literal, TypeVar

from hat.errors import BadInput
from hat.files import canonical_json, sha256_text

HookEvent = Literal["PreToolUse", "PostAssistant", "PreReply"]
Layout = Literal["markdown", "plain", "json", "xml"]

LOAD_SKILL = "load_skill"
"""The operation that the episode itself executes; its operation argument is `LOAD_SKILL_ARGUMENT`."""
LOAD_SKILL_ARGUMENT = "skill"
UNAVAILABLE = "unavailable"
"""The operation behind every distractor tool: no domain has it, so such a tool answers with an error."""


@dataclass(frozen=True)
class Document:
    """A small Markdown document: a title and its items in order (paragraphs or list entries)."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Tool:
    """One tool as an MCP Tool object; schemas stay JSON text, so that nothing can add or lose a key."""

    name: str
    description: str
    input_schema_json: str
    title: str = ""
    output_schema_json: str | None = None
    annotations_json: str = "{}"

    @property
    def input_schema(self) -> dict[str, Any]:
        """A copy of the schema's top level; what is inside it is shared and must not be changed."""
        return dict(self._input_schema)

    @cached_property
    def _input_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.input_schema_json)
        return schema


@dataclass(frozen=True)
class Skill:
    """A skill: the description is always in the prompt, the body is loaded on demand."""

    name: str
    description: str
    kind: Literal["reply", "strategy"]
    intents: tuple[str, ...]
    """The domain's intents that this skill answers; none for a distractor."""
    body: Document


@dataclass(frozen=True)
class Block:
    """One block of the system prompt: a document, or the place where the skills are listed."""

    id: str
    kind: Literal["prompt", "skills"]
    document: Document


@dataclass(frozen=True)
class Hook:
    """A check at a lifecycle point and the message that the model gets when it blocks."""

    event: HookEvent
    matcher: str
    """A tool's name, or ``*`` for all."""
    check: str
    message: str
    """Text with ``{placeholders}`` that the check fills; symbols stand in code spans."""


@dataclass(frozen=True)
class CommandHook:
    """A command that may block a call or a reply: JSON on stdin; exit status 0 passes, 2 blocks, others are noted.

    It runs only where a profile allows commands (`hat.agent.command_hooks`).
    """

    event: str
    """``PreToolUse`` or ``PreReply``."""
    matcher: str
    """A regular expression over tool names that must match as a whole, or ``*`` for all."""
    command: str
    """For the shell."""
    timeout_seconds: float


@dataclass(frozen=True)
class Limits:
    """Bounds of one episode: model turns, tool calls, characters of a reply, corrections after a block."""

    max_turns: int
    max_tool_calls: int
    max_reply_characters: int
    max_retries: int


_Named = TypeVar("_Named", Tool, Skill)


@dataclass(frozen=True)
class Binding:
    """What a harness tool does: a domain operation and, per harness argument, the operation's argument."""

    operation: str
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Harness:
    """A whole harness under its canonical names."""

    name: str
    version: str
    parent: str | None
    changed: str
    domain: str
    tools: tuple[Tool, ...]
    skills: tuple[Skill, ...]
    blocks: tuple[Block, ...]
    hooks: tuple[Hook, ...]
    limits: Limits
    layout: Layout
    bindings: tuple[tuple[str, Binding], ...]
    files_digest: str = field(default="", compare=False)
    """SHA-256 over the files it was loaded from; empty when it was not loaded from files."""
    command_hooks: tuple[CommandHook, ...] = ()
    commands_allowed: bool = field(default=False, compare=False)
    """True where a profile lets `command_hooks` run; never what a harness says of itself."""

    @cached_property
    def digest(self) -> str:
        """The digest of the files where there are any, else of the content."""
        return self.files_digest or self.content_digest

    @cached_property
    def content_digest(self) -> str:
        left_out = {"files_digest", "commands_allowed"}
        if not self.command_hooks:
            # A harness without commands keeps the digest that it had before there were any.
            left_out.add("command_hooks")
        content = (
            f'"{name}":{_canonical(getattr(self, name))}'
            for name in sorted(_field_names(Harness))
            if name not in left_out
        )
        return sha256_text(f"{{{','.join(content)}}}")

    @cached_property
    def prompts(self) -> dict[str, str]:
        """What `hat.harness.render.render_system_prompt` has rendered, by session."""
        return {}

    def tool(self, name: str) -> Tool:
        return _named(self.tools, name, "tool")

    def skill(self, name: str) -> Skill:
        return _named(self.skills, name, "skill")

    def binding(self, tool_name: str) -> Binding:
        for name, binding in self.bindings:
            if name == tool_name:
                return binding
        raise BadInput(f"tool {tool_name!r} has no binding", where=f"{self.name}@{self.version}")

    def tool_for(self, operation: str) -> str:
        """The tool bound to a domain operation."""
        for name, binding in self.bindings:
            if binding.operation == operation:
                return name
        raise BadInput(f"no tool is bound to operation {operation!r}", where=f"{self.name}@{self.version}")

    def skill_for(self, intent: str) -> str:
        """The reply skill that answers an intent of the domain."""
        for skill in self.skills:
            if skill.kind == "reply" and intent in skill.intents:
                return skill.name
        raise BadInput(f"no reply skill answers intent {intent!r}", where=f"{self.name}@{self.version}")


def _named(values: tuple[_Named, ...], name: str, what: str) -> _Named:
    for value in values:
        if value.name == name:
            return value
    raise BadInput(f"no {what} named {name!r}")


def _canonical(value: Any) -> str:
    """`hat.files.canonical_json` of `dataclasses.asdict`, written once for each part: states share most of theirs."""
    if isinstance(value, tuple):
        return f"[{','.join(map(_canonical, value))}]"
    names = _field_names(value.__class__)
    if not names:
        return canonical_json(value)
    # A frozen value cannot change, so neither can its text.
    known: dict[str, Any] = value.__dict__
    if _TEXT not in known:
        content = (f'"{name}":{_canonical(known[name])}' for name in sorted(names))
        known[_TEXT] = f"{{{','.join(content)}}}"
    text: str = known[_TEXT]
    return text


_TEXT = "_canonical_text"


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    """Names of a dataclass's fields; none for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
