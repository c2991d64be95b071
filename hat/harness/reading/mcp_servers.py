"""``.mcp.json``: the MCP servers that a plugin or a project names; nothing of it is ever started here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from hat.harness.problems import Problems
from hat.harness.reading.checked import checked
from hat.harness.reading.lined import Lined

_CLIENT_KEYS = ("mcpServers", "servers", "context_servers")


class _Server(BaseModel):
    # Products add keys of their own; they stay in the file.
    model_config = ConfigDict(extra="allow", frozen=True)

    type: str | None = None
    command: Annotated[str, Field(min_length=1)] | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: Annotated[str, Field(min_length=1)] | None = None
    headers: dict[str, str] = {}

    @model_validator(mode="after")
    def _reachable(self) -> "_Server":
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a command or a url")
        return self


class _Servers(RootModel[dict[str, _Server]]):
    pass


def servers_place(value: Any) -> tuple[str, ...] | None:
    """Where the servers stand: under ``mcpServers`` or at the root; None when these are no servers."""
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("mcpServers"), Mapping):
        return ("mcpServers",)
    bare = value and all(
        isinstance(entry, Mapping) and {"command", "url"} & set(entry) for entry in value.values()
    )
    return () if bare else None


def configured_servers(value: Any) -> tuple[str, ...] | None:
    """Names of the servers in the configuration of an MCP client; None when the value is no such file.

    Clients write the same entries under different keys: ``mcpServers`` (the public form), ``servers`` (VS Code),
    ``context_servers`` (Zed), or at the root.
    """
    if not isinstance(value, Mapping):
        return None
    for key in _CLIENT_KEYS:
        if isinstance(value.get(key), Mapping):
            return tuple(value[key])
    return None if servers_place(value) is None else tuple(value)


def check_servers(source: Lined, path: Path, problems: Problems) -> None:
    """Note what is no server."""
    place = servers_place(source.value)
    if place is None:
        problems.add("mcp-servers", path, "no mapping of servers under `mcpServers`")
        return
    checked(_Servers, source.part(*place), path, "mcp-servers", problems)
