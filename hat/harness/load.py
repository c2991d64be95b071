"""Loading a harness version's folder into a `Harness`; anything that breaks the format is one clear error."""

import json
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from hat.errors import BadInput
from hat.files import read_json
from hat.harness.digest import digest_folder
from hat.harness.manifest import HooksFile, Manifest
from hat.harness.model import Binding, Block, Document, Harness, Hook, Limits, Skill, Tool

Model = TypeVar("Model", bound=BaseModel)

MAX_FILE_BYTES = 1 << 20


def load_harness(folder: Path) -> Harness:
    """The harness in a version folder.

    Raises:
        BadInput: a file is missing, malformed, too large, or leaves the folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadInput("no such harness folder", where=str(folder))
    digest = digest_folder(folder)
    manifest = check_model(Manifest, read_yaml(folder / "harness.yaml"), folder / "harness.yaml")
    tools = tuple(_load_tool(folder / "tools" / f"{name}.json") for name in manifest.bindings)
    _refuse_unbound(folder, {tool.name for tool in tools})
    return Harness(
        name=manifest.name,
        version=manifest.version,
        parent=manifest.parent,
        changed=manifest.changed,
        domain=manifest.domain,
        tools=tools,
        skills=tuple(_load_skill(path) for path in sorted((folder / "skills").glob("*/SKILL.md"))),
        blocks=tuple(
            Block(entry.id, entry.kind, parse_document(read_text(folder / "prompts" / f"{entry.id}.md")))
            for entry in manifest.prompt.blocks
        ),
        hooks=_load_hooks(folder / "hooks" / "hooks.json"),
        limits=Limits(**manifest.limits.model_dump()),
        layout=manifest.prompt.layout,
        bindings=tuple(
            (name, Binding(entry.operation, tuple(entry.arguments.items())))
            for name, entry in manifest.bindings.items()
        ),
        files_digest=digest,
    )


def read_text(path: Path) -> str:
    """A harness file's text: UTF-8, at most `MAX_FILE_BYTES`."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"larger than {MAX_FILE_BYTES} bytes", where=str(path))
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadInput("no such file", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 at byte {error.start}", where=str(path)) from error


def read_yaml(path: Path) -> Any:
    """A YAML document through the safe loader; anchors and aliases are refused, since they can blow up."""
    return parse_yaml(read_text(path), path, first_line=1)


def parse_yaml(text: str, path: Path, first_line: int) -> Any:
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + first_line
                raise BadInput("YAML aliases are not allowed", where=f"{path}:{line}")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + first_line}" if mark else str(path)
        raise BadInput(f"not YAML: {getattr(error, 'problem', None) or error}", where=where) from error


def check_model(model: type[Model], value: Any, path: Path) -> Model:
    """``value`` as a ``model``, or one message naming the first wrong key."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{key}: {first['msg']}" if key else first["msg"], where=str(path)) from error


def parse_document(text: str) -> Document:
    """A document of one ``# title`` and its items; a paragraph is an item, too.

    Raises:
        BadInput: there is no title.
    """
    title, items, paragraph = "", [], []
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        starts_item = stripped.startswith(("- ", "* "))
        if (not stripped or starts_item or stripped.startswith("# ")) and paragraph:
            items.append(" ".join(paragraph))
            paragraph = []
        if stripped.startswith("# ") and not title:
            title = stripped[2:].strip()
        elif starts_item:
            paragraph = [stripped[2:].strip()]
        elif stripped:
            paragraph.append(stripped)
    if not title:
        raise BadInput("a document begins with a title, '# ...'")
    return Document(title, tuple(items))


def split_front_matter(text: str, path: Path) -> tuple[dict[str, Any], str]:
    """The YAML front matter of a SKILL.md and the body after it."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        raise BadInput("no front matter: the first line must be ---", where=f"{path}:1")
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == "---":
            header = parse_yaml("\n".join(lines[1:number]), path, first_line=2)
            if not isinstance(header, dict):
                raise BadInput("the front matter is not a mapping", where=f"{path}:2")
            return header, "\n".join(lines[number + 1 :])
    raise BadInput("the front matter is not closed by ---", where=f"{path}:1")


def _load_tool(path: Path) -> Tool:
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("inputSchema"), dict):
        raise BadInput("a tool is an MCP Tool object with name and inputSchema", where=str(path))
    if value.get("name") != path.stem:
        raise BadInput(f"the name {value.get('name')!r} differs from the file's", where=str(path))
    output_schema = value.get("outputSchema")
    return Tool(
        name=value["name"],
        description=str(value.get("description", "")),
        input_schema_json=json.dumps(value["inputSchema"], ensure_ascii=False),
        title=str(value.get("title", "")),
        output_schema_json=None if output_schema is None else json.dumps(output_schema, ensure_ascii=False),
        annotations_json=json.dumps(value.get("annotations", {}), ensure_ascii=False),
    )


def _refuse_unbound(folder: Path, bound: set[str]) -> None:
    for path in sorted((folder / "tools").glob("*.json")):
        if path.stem not in bound:
            raise BadInput("the tool has no binding in harness.yaml", where=str(path))


def _load_skill(path: Path) -> Skill:
    header, body = split_front_matter(read_text(path), path)
    name, description = header.get("name"), header.get("description")
    if name != path.parent.name:
        raise BadInput(f"the skill's name {name!r} differs from its folder's", where=str(path))
    if not isinstance(description, str) or not 1 <= len(description) <= 1024:
        raise BadInput("a description of 1 to 1024 characters is needed", where=str(path))
    metadata = header.get("metadata") or {}
    kind = metadata.get("kind", "strategy")
    if kind not in ("reply", "strategy"):
        raise BadInput(f"metadata.kind is {kind!r}; it is reply or strategy", where=str(path))
    try:
        document = parse_document(body)
    except BadInput as error:
        raise BadInput(error.what, where=str(path)) from error
    return Skill(str(name), description, kind, tuple(str(metadata.get("intents", "")).split()), document)


def _load_hooks(path: Path) -> tuple[Hook, ...]:
    if not path.exists():
        return ()
    hooks_file = check_model(HooksFile, read_json(path), path)
    hooks = []
    for event, matchers in hooks_file.hooks.items():
        for entry in matchers:
            for hook in entry.hooks:
                if hook.type != "builtin" or hook.check is None:
                    raise BadInput(
                        "only hooks of type builtin with a check can run",
                        where=str(path),
                        mend="Commands are off: they would run outside of the episode's control.",
                    )
                hooks.append(Hook(event, entry.matcher, hook.check, hook.message))
    return tuple(hooks)
