"""The schema of ``harness.yaml`` and ``hooks.json``: what people write, checked strictly."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Layout = Literal["markdown", "plain", "json", "xml"]
VERSION_PATTERN = r"(?:0|[1-9][0-9]{0,5})\.(?:0|[1-9][0-9]{0,5})\.(?:0|[1-9][0-9]{0,5})"
"""Three numbers without leading zeros; bounded, so that they stay comparable and printable."""
SemanticVersion = Annotated[str, Field(pattern=f"^{VERSION_PATTERN}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BlockEntry(_Strict):
    id: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
    """The block's file is ``prompts/<id>.md``."""
    kind: Literal["prompt", "skills"] = "prompt"
    """``skills`` appends the list of skills to the block's own items."""


class Prompt(_Strict):
    layout: Layout
    blocks: Annotated[list[BlockEntry], Field(min_length=1)]
    """In the order in which the model reads them; what changes per session goes last, to share prefixes."""


class LimitsEntry(_Strict):
    max_turns: Annotated[int, Field(ge=1, le=64)]
    max_tool_calls: Annotated[int, Field(ge=1, le=256)]
    max_reply_characters: Annotated[int, Field(ge=1, le=20_000)]
    max_retries: Annotated[int, Field(ge=0, le=16)]


class BindingEntry(_Strict):
    operation: str
    arguments: dict[str, str] = {}
    """Harness argument to operation argument."""


class Manifest(_Strict):
    """``harness.yaml``."""

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
    version: SemanticVersion
    parent: SemanticVersion | None
    changed: Annotated[str, Field(min_length=1)]
    """What changed against the parent, and why."""
    domain: str
    prompt: Prompt
    limits: LimitsEntry
    bindings: Annotated[dict[str, BindingEntry], Field(min_length=1)]
    """Tool to what it does; tools are presented in this order."""


class HookEntry(_Strict):
    type: Literal["builtin", "command"]
    check: str | None = None
    """The built-in check."""
    message: str = ""
    command: str | None = None


class MatcherEntry(_Strict):
    matcher: str = "*"
    hooks: list[HookEntry]


class HooksFile(_Strict):
    """``hooks/hooks.json``."""

    schema_version: Literal[1] = 1
    hooks: dict[Literal["PreToolUse", "PostAssistant", "PreReply"], list[MatcherEntry]]
