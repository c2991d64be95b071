"""``.claude-plugin/plugin.json``: the manifest of the public plugin layout."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hat.harness.problems import Problems
from hat.harness.reading.bundle import read_source
from hat.harness.reading.checked import checked
from hat.harness.reading.strict_json import parse_json

PLUGIN_FILE = ".claude-plugin/plugin.json"


class _Author(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    email: str | None = None
    url: str | None = None


class PluginManifest(BaseModel):
    """What is read of a plugin's manifest; other keys stay in the file."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=64)]
    version: str | None = None
    description: str = ""
    author: _Author | str | None = None
    homepage: str | None = None
    repository: str | dict[str, Any] | None = None
    license: str | None = None
    keywords: list[str] = []


_ELSEWHERE = ("skills", "hooks", "mcpServers")
"""Keys with which a plugin puts its parts in other places than the usual ones."""


def read_plugin(folder: Path, problems: Problems) -> PluginManifest | None:
    """The manifest of a plugin folder; None when it cannot be used."""
    path = folder / PLUGIN_FILE
    text = read_source(path, problems)
    source = None if text is None else parse_json(text, path, problems)
    if source is None:
        return None
    for key in _ELSEWHERE:
        if isinstance(source.value, dict) and key in source.value:
            message = f"{key} is read from its usual place only: move it there, or the import leaves it out"
            problems.add("plugin-elsewhere", path, message, source.line(key))
    return checked(PluginManifest, source, path, "plugin-schema", problems)
