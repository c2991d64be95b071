"""The schemas of ``harness.yaml``, checked strictly, and of ``hooks.json``, which other products write, too."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hat.schema_version import SchemaVersion

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

    schema_version: SchemaVersion
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


class BuiltinEntry(_Strict):
    type: Literal["builtin"]
    check: Annotated[str, Field(min_length=1)]
    """The built-in check."""
    message: str = ""


class _Kept(BaseModel):
    """What other products write: keys that we do not know stay in the file."""

    model_config = ConfigDict(extra="allow", frozen=True)


class CommandEntry(_Kept):
    type: Literal["command"]
    command: Annotated[str, Field(min_length=1)]
    timeout: Annotated[float, Field(gt=0)] | None = None
    """Seconds."""
    in_background: Annotated[bool, Field(alias="async")] = False


class OtherEntry(_Kept):
    """Hooks that ask a model, an agent or a server: never run here."""

    type: Literal["prompt", "agent", "http", "mcp_tool"]


class MatcherEntry(_Kept):
    matcher: str = "*"
    hooks: list[Annotated[BuiltinEntry | CommandEntry | OtherEntry, Field(discriminator="type")]]


class HooksFile(_Strict):
    """``hooks/hooks.json``."""

    schema_version: SchemaVersion = 1
    schema_address: Annotated[str, Field(alias="$schema")] = ""
    description: str = ""
    hooks: dict[str, list[MatcherEntry]]
