"""Loading a version's folder into a `Harness`; everything that breaks the format is reported at once."""

from dataclasses import dataclass
from pathlib import Path

from hat.harness.digest import digest_files
from hat.harness.manifest import BindingEntry, Manifest
from hat.harness.model import Binding, Block, Harness, Limits
from hat.harness.problems import BadHarness, Problem, Problems
from hat.harness.reading.bundle import list_files, read_source
from hat.harness.reading.checked import checked
from hat.harness.reading.hooks_file import HookFile, parse_hooks
from hat.harness.reading.lined import Lined
from hat.harness.reading.markdown import LinedDocument, parse_lined_document
from hat.harness.reading.names import shown, tool_name_problem
from hat.harness.reading.skill_file import SkillFile, parse_skill
from hat.harness.reading.strict_yaml import parse_yaml
from hat.harness.reading.templates import check_template
from hat.harness.reading.tool_file import ToolFile, parse_tool

MANIFEST = "harness.yaml"
HOOKS = "hooks/hooks.json"
_RESOURCES = ("scripts", "references", "assets")
"""Folders of a skill in the Agent Skills format."""
SOURCE = "source"
"""The folder in which an imported version keeps what the harness itself does not use."""


@dataclass(frozen=True)
class Reading:
    """What reading a version folder gave: the problems, and as much of the harness as could be read."""

    folder: Path
    problems: tuple[Problem, ...]
    harness: Harness | None
    """None when there is any error."""
    manifest: Manifest | None
    manifest_source: Lined | None
    tools: tuple[ToolFile, ...]
    skills: tuple[SkillFile, ...]
    blocks: tuple[tuple[str, LinedDocument], ...]
    hooks: HookFile


def load_harness(folder: Path, *, name: str | None = None, version: str | None = None) -> Harness:
    """The harness in a version folder; with ``name`` and ``version``, it must be that one.

    Raises:
        BadHarness: the folder breaks the format; its ``problems`` name file, line and rule of every finding.
        EnvironmentFailure: the system refuses to read it.
    """
    reading = read_harness(folder, name=name, version=version)
    if reading.harness is None:
        raise BadHarness(reading.problems, where=str(folder))
    return reading.harness


def read_harness(folder: Path, *, name: str | None = None, version: str | None = None) -> Reading:
    """Reads a version folder as far as possible and notes every problem of format on the way.

    ``name`` and ``version`` are what the registry's folders say, where it lies in one.

    Raises:
        EnvironmentFailure: the system refuses to read it.
    """
    folder = Path(folder)
    problems = Problems()
    if not folder.is_dir():
        problems.add("missing-file", folder, "no such harness folder")
        return Reading(folder, problems.sorted(), None, None, None, (), (), (), HookFile())
    files = list_files(folder, problems)
    present = {path.relative_to(folder).as_posix(): path for path in files}
    source, manifest = read_manifest(folder, problems)
    if manifest is not None and source is not None:
        _check_place(folder / MANIFEST, manifest, source, {"name": name, "version": version}, problems)
    tools = _read_tools(folder, present, manifest, source, problems)
    skills = _read_skills(present, problems)
    blocks = _read_blocks(folder, manifest, source, problems)
    hooks = _read_hooks(folder / HOOKS, problems) if HOOKS in present else HookFile()
    _note_unused(present, manifest, problems)
    harness = None
    if manifest is not None and not problems.errors:
        harness = _assembled(manifest, tools, skills, blocks, hooks, digest_files(folder, files))
    return Reading(folder, problems.sorted(), harness, manifest, source, tools, skills, blocks, hooks)


def read_text(path: Path) -> str:
    """A text file that belongs to a harness: UTF-8, within the limits.

    Raises:
        BadHarness: absent, too large, not UTF-8 or not a regular file.
    """
    problems = Problems()
    text = read_source(path, problems)
    if text is None:
        raise BadHarness(problems.sorted(), where=str(path))
    return text


def read_manifest(folder: Path, problems: Problems) -> tuple[Lined | None, Manifest | None]:
    """harness.yaml as data with lines and as a `Manifest`; None for what could not be made of it."""
    path = folder / MANIFEST
    text = read_source(path, problems)
    source = None if text is None else parse_yaml(text, path, problems)
    if source is None:
        return None, None
    manifest = checked(Manifest, source, path, "manifest-schema", problems)
    if manifest is None:
        return source, None
    seen: set[str] = set()
    for index, block in enumerate(manifest.prompt.blocks):
        if block.id in seen:
            line = source.line("prompt", "blocks", index)
            problems.add("duplicate-name", path, f"two blocks are called {block.id!r}", line)
        seen.add(block.id)
    if sum(block.kind == "skills" for block in manifest.prompt.blocks) > 1:
        line = source.line("prompt", "blocks")
        problems.add("duplicate-name", path, "two blocks list the skills", line)
    return source, manifest


def _check_place(
    path: Path, manifest: Manifest, source: Lined, expected: dict[str, str | None], problems: Problems
) -> None:
    for key, folder_name in expected.items():
        written = getattr(manifest, key)
        if folder_name is not None and folder_name != written:
            message = f"{key} is {written!r}, but the folder is called {shown(folder_name)}"
            problems.add("version-folder", path, message, source.line(key))


def _read_tools(
    folder: Path,
    present: dict[str, Path],
    manifest: Manifest | None,
    source: Lined | None,
    problems: Problems,
) -> tuple[ToolFile, ...]:
    tools: dict[str, ToolFile] = {}
    for name, path in present.items():
        if name.startswith("tools/") and name.endswith(".json") and name.count("/") == 1:
            text = read_source(path, problems)
            tool = None if text is None else parse_tool(text, path, problems)
            if tool is not None:
                tools[path.stem] = tool
    if manifest is None or source is None:
        return tuple(tools.values())
    for name, binding in manifest.bindings.items():
        line = source.line("bindings", name)
        if tool_name_problem(name):
            problems.add("illegal-name", folder / MANIFEST, f"binding {tool_name_problem(name)}", line)
        elif f"tools/{name}.json" not in present:
            problems.add(
                "missing-file", folder / MANIFEST, f"{name} is bound, but tools/{name}.json is missing", line
            )
        elif name in tools:
            arguments = tools[name].tool.input_schema.get("properties", {})
            for argument in binding.arguments:
                if argument not in arguments:
                    message = f"{name} has no argument {shown(argument)} in its inputSchema"
                    place = source.line("bindings", name, "arguments", argument)
                    problems.add("binding-argument", folder / MANIFEST, message, place)
    for name in sorted(set(tools) - set(manifest.bindings)):
        problems.add("binding-operation", tools[name].path, f"the tool {name} has no binding in {MANIFEST}")
    # Tools are presented in the order of their bindings.
    return tuple(tools[name] for name in manifest.bindings if name in tools)


def _read_skills(present: dict[str, Path], problems: Problems) -> tuple[SkillFile, ...]:
    skills = []
    for name, path in present.items():
        parts = name.split("/")
        if len(parts) == 3 and parts[0] == "skills" and parts[2] == "SKILL.md":
            text = read_source(path, problems)
            skill = None if text is None else parse_skill(text, path, problems)
            if skill is not None:
                check_template(skill.skill.description, path, skill.header.line("description"), problems)
                skills.append(skill)
    return tuple(skills)


def _read_blocks(
    folder: Path, manifest: Manifest | None, source: Lined | None, problems: Problems
) -> tuple[tuple[str, LinedDocument], ...]:
    if manifest is None or source is None:
        return ()
    blocks: list[tuple[str, LinedDocument]] = []
    titles: dict[str, str] = {}
    for entry in manifest.prompt.blocks:
        path = folder / "prompts" / f"{entry.id}.md"
        text = read_source(path, problems)
        document = None if text is None else parse_lined_document(text, path, problems)
        if document is None:
            continue
        for item, line in document.texts():
            check_template(item, path, line, problems)
        title = document.document.title
        if title in titles and titles[title] != entry.id:
            message = f"the block {titles[title]} has the title {title!r}, too"
            problems.add("duplicate-name", path, message, document.title_line)
        titles[title] = entry.id
        blocks.append((entry.id, document))
    return tuple(blocks)


def _read_hooks(path: Path, problems: Problems) -> HookFile:
    text = read_source(path, problems)
    return (None if text is None else parse_hooks(text, path, problems)) or HookFile()


def _note_unused(present: dict[str, Path], manifest: Manifest | None, problems: Problems) -> None:
    prompts = {f"prompts/{entry.id}.md" for entry in manifest.prompt.blocks} if manifest else None
    for name, path in present.items():
        folder, _, rest = name.partition("/")
        if name in (MANIFEST, HOOKS):
            continue
        if folder == "prompts" and (prompts is None or name in prompts):
            continue
        if folder == "tools" and rest.endswith(".json") and "/" not in rest:
            continue
        if folder == "skills" and rest.count("/") == 1 and rest.endswith("/SKILL.md"):
            continue
        if folder == "skills" and rest.count("/") >= 2 and rest.split("/")[1] in _RESOURCES:
            problems.add("skill-resource", path, "kept with the skill; the model is not shown it")
            continue
        if folder == SOURCE:
            # What an import keeps of its source, for the way back.
            continue
        problems.add("unused-file", path, "no part of the harness reads this file")


def _assembled(
    manifest: Manifest,
    tools: tuple[ToolFile, ...],
    skills: tuple[SkillFile, ...],
    blocks: tuple[tuple[str, LinedDocument], ...],
    hooks: HookFile,
    digest: str,
) -> Harness:
    kinds = {entry.id: entry.kind for entry in manifest.prompt.blocks}
    return Harness(
        name=manifest.name,
        version=manifest.version,
        parent=manifest.parent,
        changed=manifest.changed,
        domain=manifest.domain,
        tools=tuple(entry.tool for entry in tools),
        skills=tuple(entry.skill for entry in skills),
        blocks=tuple(Block(name, kinds[name], document.document) for name, document in blocks),
        hooks=tuple(entry.hook for entry in hooks.checks),
        limits=Limits(**manifest.limits.model_dump()),
        layout=manifest.prompt.layout,
        bindings=tuple(
            (
                name,
                Binding(
                    entry.operation, tuple({**_own_names(tools, name, entry), **entry.arguments}.items())
                ),
            )
            for name, entry in manifest.bindings.items()
        ),
        files_digest=digest,
        command_hooks=tuple(entry.hook for entry in hooks.commands),
    )


def _own_names(tools: tuple[ToolFile, ...], name: str, entry: BindingEntry) -> dict[str, str]:
    """Arguments that a binding leaves out reach the operation under their own names."""
    schema = next((file.tool.input_schema for file in tools if file.tool.name == name), {})
    return {
        argument: argument for argument in schema.get("properties", {}) if argument not in entry.arguments
    }
