"""`hat harness export`: a version as a plugin folder or a tools/list result, as it was imported but for later edits."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.files import as_environment_failure, read_json, write_json_atomic
from hat.harness.digest import folder_files
from hat.harness.exchange.imports import IMPORT_FILE
from hat.harness.exchange.sources import LIST_FILE, PLUGIN_FOLDER, Kind
from hat.harness.load import HOOKS, read_harness
from hat.harness.model import LOAD_SKILL
from hat.harness.problems import BadHarness
from hat.harness.reading.plugin_file import PLUGIN_FILE
from hat.harness.reading.tool_file import list_place


def export_harness(folder: Path, out: Path, kind: Kind | None = None) -> Kind:
    """Write the version in ``folder`` to ``out``, a file for tools and a new folder for a plugin.

    Without ``kind``, what the version was imported from. What the import had to add is left out.

    Raises:
        BadHarness: the version has errors.
        BadInput: nothing says what to export, or ``out`` exists.
        EnvironmentFailure: ``out`` cannot be written.
    """
    reading = read_harness(folder)
    if reading.harness is None:
        raise BadHarness(reading.problems, where=str(folder))
    record: dict[str, Any] = read_json(folder / IMPORT_FILE) if (folder / IMPORT_FILE).is_file() else {}
    kind = kind or record.get("kind")
    if kind not in ("tools-list", "plugin"):
        raise BadInput(
            "this version was not imported", where=str(folder), mend="Say --as plugin or --as tools-list."
        )
    if out.exists():
        raise BadInput("exists already", where=str(out), mend="Name a new file or folder.")
    generated = frozenset(record.get("generated", ()))
    if kind == "tools-list":
        bindings = dict(reading.harness.bindings)
        tools = [
            entry.source.value
            for entry in reading.tools
            # Loading skills is the episode's own work, not a server's.
            if bindings[entry.tool.name].operation != LOAD_SKILL
        ]
        write_json_atomic(out, _tools_document(folder, tools))
    else:
        _write_plugin(folder, out, generated, reading.harness.name, reading.harness.version)
    return kind


def _tools_document(folder: Path, tools: list[Any]) -> Any:
    envelope = read_json(folder / LIST_FILE) if (folder / LIST_FILE).is_file() else {"tools": []}
    place = list_place(envelope) or ("tools",)
    holder = envelope
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = tools
    return envelope


def _write_plugin(folder: Path, out: Path, generated: frozenset[str], name: str, version: str) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".export-") as work:
            plugin = Path(work) / "plugin"
            for path in folder_files(folder):
                inside = path.relative_to(folder).as_posix()
                if inside.startswith(f"{PLUGIN_FOLDER}/"):
                    target = plugin / inside.removeprefix(f"{PLUGIN_FOLDER}/")
                elif inside not in generated and (inside.startswith("skills/") or inside == HOOKS):
                    target = plugin / inside
                else:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            if not (plugin / PLUGIN_FILE).is_file():
                write_json_atomic(plugin / PLUGIN_FILE, {"name": name, "version": version})
            os.rename(plugin, out)
    except OSError as error:
        raise as_environment_failure(error, out) from error
