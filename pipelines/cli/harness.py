"""`hat harness`: what people who edit harnesses use. Everything here starts without torch."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pipelines.cli.options import RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json, refuse_both

if TYPE_CHECKING:
    from hat.harness.model import Harness
    from hat.harness.problems import Problem

FOUND_ERRORS = 1
_FILE_ENDINGS = (".json", ".md", ".yaml", ".yml")
_RISK_COLOURS = {"cosmetic": "dim", "preserving": "green", "behaviour-changing": "red"}
_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}

app = typer.Typer(
    name="harness",
    help="List, show, check, compare and create harness versions.",
    no_args_is_help=True,
)
SideArgument = Annotated[
    str, typer.Argument(metavar="NAME[@VERSION]", help="A harness, or a version's folder.")
]


@app.command("list")
def list_versions(registry: RegistryOption = None, json_output: JsonFlag = False) -> None:
    """All harnesses with their versions."""
    from hat.harness.listing import list_registry
    from hat.harness.registry import Registry

    rows = list_registry(Registry(registry_folder(registry)))
    if json_output:
        print_json([row.to_json() for row in rows])
        return
    from textwrap import shorten

    from rich.table import Table

    table = Table("harness", "version", "parent", "locked", "what changed", box=None, pad_edge=False)
    for row in rows:
        changed = shorten(row.changed, 80) if row.readable else "cannot be read: see hat harness lint"
        cells = (row.harness, row.version, row.parent or "-", "yes" if row.locked else "no", changed)
        table.add_row(*(_plain(cell) for cell in cells))
    out().print(table)


@app.command()
def show(reference: SideArgument, registry: RegistryOption = None, json_output: JsonFlag = False) -> None:
    """The prompt, tools and skills as the model sees them, filled in for a sample session."""
    from hat.domains.base import domain_of
    from hat.harness.linting.budget import estimate_harness_tokens
    from hat.harness.render import render_skill, render_system_prompt, render_tools

    harness = _harness(reference, registry)
    session = domain_of(harness).sample_session(0, "train")
    document: dict[str, Any] = {
        "schema_version": 1,
        "harness": harness.name,
        "version": harness.version,
        "digest": harness.digest,
        "session": dict(session),
        "system_prompt": render_system_prompt(harness, session),
        "tools": render_tools(harness),
        "skills": {skill.name: render_skill(harness, skill.name) for skill in harness.skills},
        "estimated_tokens": estimate_harness_tokens(harness),
    }
    if json_output:
        print_json(document)
        return
    import json

    console = out()

    def section(title: str, text: str) -> None:
        console.print(f"── {title}", style="bold", markup=False)
        console.print(text, markup=False, soft_wrap=True)
        console.print()

    section("system prompt (for a sample session)", document["system_prompt"])
    tools = (json.dumps(tool["function"], ensure_ascii=False) for tool in document["tools"])
    section("tools (given to the model's chat template, which writes them its own way)", "\n".join(tools))
    for name, text in document["skills"].items():
        section(f"skill {name}, when loaded", text)
    summary = f"{harness.name}@{harness.version}, about {document['estimated_tokens']} tokens (an estimate)"
    console.print(f"{summary}, digest {harness.digest}", markup=False, soft_wrap=True)


@app.command()
def lint(
    path: Annotated[
        str | None,
        typer.Argument(help="A harness or version folder, SKILL.md, tool, hooks.json, or a harness by name."),
    ] = None,
    explain: Annotated[str | None, typer.Option(metavar="RULE", help="Say what a rule is about.")] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Report every problem with file, line and rule. Exit status 1 when there is an error."""
    from hat.errors import BadInput
    from hat.harness.lint import lint_path

    if explain is not None:
        if path is not None:
            raise BadInput(
                "--explain is about a rule, not about a path", where=path, mend="Give one of the two."
            )
        _explain(explain, json_output)
        return
    if path is None:
        raise BadInput("nothing to lint", mend="Give a folder, or a rule with --explain.")
    problems = lint_path(_lint_target(path, registry))
    _report(path, problems, json_output)


@app.command()
def diff(
    before: SideArgument,
    after: SideArgument,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="For a pull-request comment.")] = False,
    html_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page for a browser.")
    ] = None,
) -> None:
    """What changed between two versions, by meaning, how risky each change is, and what it means for training."""
    refuse_both("--json", "--markdown", json_output, markdown)
    from hat.harness.diff import diff_harnesses
    from hat.harness.diffing import present

    difference = diff_harnesses(_harness(before, registry), _harness(after, registry))
    if html_file is not None:
        from hat.files import write_text_atomic
        from hat.harness.diffing.page import html

        write_text_atomic(html_file, html(difference))
    if json_output:
        print_json(difference.to_json())
        return
    console = out()
    if markdown:
        console.out(present.markdown(difference), end="", highlight=False)
        return
    console.print(present.headline(difference), style="bold", markup=False)
    console.print(" ".join(difference.changed.split()), markup=False)
    console.print(present.summary(difference), markup=False)
    for heading, changes in present.sections(difference).items():
        console.print(f"\n{heading}", style="bold", markup=False)
        for change in changes:
            line = _plain(f"  {present.sentence(change)} ")
            line.append(f"[{change.risk}]", style=_RISK_COLOURS[change.risk])
            console.print(line, soft_wrap=True)
            for refused in change.refused:
                console.print(f"    refused now: {refused}", style="red", markup=False, soft_wrap=True)
            for sign, line in present.texts(change):
                style = "red" if sign == "-" else "green"
                console.print(f"    {sign} {line}", style=style, markup=False, soft_wrap=True)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Harness.")],
    version: Annotated[str, typer.Argument(help="The new version, e.g. 1.2.0.")],
    parent: Annotated[str, typer.Option("--from", metavar="VERSION", help="The version to copy.")],
    registry: RegistryOption = None,
) -> None:
    """A new version: a copy of an earlier one, to be edited."""
    from hat.harness.create import new_version
    from hat.harness.registry import Registry

    folder = new_version(Registry(registry_folder(registry)), name, version, parent)
    _say(f"{folder}: edit it, say in harness.yaml what changed, then `hat harness lint {folder}`.")


@app.command("import")
def import_source(
    path: Annotated[Path, typer.Argument(help="A plugin folder, or a tools/list result as a JSON file.")],
    reference: Annotated[str, typer.Option("--as", metavar="NAME@VERSION", help="What it becomes.")],
    registry: RegistryOption = None,
) -> None:
    """A new version from what a team already has; problems of the source are all told, and then nothing is written."""
    from hat.errors import BadInput
    from hat.harness.exchange.imports import import_harness
    from hat.harness.lint import lint_path
    from hat.harness.registry import Registry, parse_reference

    name, version = parse_reference(reference)
    if version is None:
        raise BadInput(
            f"{reference!r} has no version", where="--as", mend="Write NAME@VERSION, as in git@1.0.0."
        )
    folder = import_harness(Registry(registry_folder(registry)), path, name, version)
    for problem in lint_path(path):
        if problem.severity == "warning":
            err().print(f"{problem.file}:{problem.line}: {problem.message}", markup=False, soft_wrap=True)
    _say(f"{folder}: read it through, then `hat harness lint {folder}`.")


@app.command()
def export(
    reference: SideArgument,
    out_path: Annotated[Path, typer.Option("--out", metavar="PATH", help="A new file or folder.")],
    kind: Annotated[
        Literal["plugin", "tools-list"] | None,
        typer.Option("--as", help="Default: what the version was imported from."),
    ] = None,
    registry: RegistryOption = None,
) -> None:
    """A version as a plugin folder or a tools/list result, for other products to read."""
    from hat.harness.exchange.exports import export_harness

    written = export_harness(_folder(reference, registry), out_path, kind)
    _say(f"{out_path}: {'a plugin folder' if written == 'plugin' else 'a tools/list result'}.")


@app.command()
def lock(
    name: Annotated[str, typer.Argument(help="Harness.")],
    registry: RegistryOption = None,
) -> None:
    """Write the digests of versions that are not locked yet; refuse when a locked one was changed."""
    from hat.harness.lock import lock_versions
    from hat.harness.registry import Registry

    locked = lock_versions(Registry(registry_folder(registry)), name)
    added = f"locked {', '.join(locked.added)}" if locked.added else "nothing new to lock"
    _say(f"{name}: {added}; {len(locked.kept)} locked before.")


@app.command()
def check(
    base: Annotated[str, typer.Option(help="Git revision to compare with, e.g. main.")],
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="For a pull-request comment.")] = False,
) -> None:
    """For pull requests: lint, see that merged versions are as they were, show what is new and what will be done."""
    refuse_both("--json", "--markdown", json_output, markdown)
    from hat.harness.diffing.present import headline, sentence
    from hat.harness.diffing.present import markdown as difference_markdown
    from hat.harness.immutability import check_against
    from hat.harness.lint import lint_path
    from hat.harness.registry import Registry
    from hat.harness.review import review

    folder = registry_folder(registry)
    frozen = check_against(Registry(folder), base)
    # `unlocked` is a remark; here it is an error of its own, `not-locked`.
    linted = (problem for problem in lint_path(folder) if problem.rule != "unlocked")
    problems = sorted({*linted, *frozen})
    versions = review(Registry(folder), base)
    if json_output:
        _report(str(folder), problems, json_output, versions=[version.to_json() for version in versions])
        return
    for version in versions:
        if markdown and version.difference is not None:
            out().out(difference_markdown(version.difference), end="\n", highlight=False)
        elif version.difference is not None:
            _say(headline(version.difference))
            for change in version.difference.changes:
                _say(f"  {sentence(change)} [{change.risk}]")
        else:
            _say(f"{'### ' if markdown else ''}{version.harness}@{version.version}")
        _say(f"{'' if markdown else '  '}{version.plan}.\n".replace("..\n", ".\n"))
    if not versions:
        _say(f"No version is new since {base}: the pipeline has nothing to do.")
    _report(str(folder), problems, json_output)


def _report(path: str, problems: Iterable["Problem"], json_output: bool, **more: Any) -> None:
    """Print problems and leave with status 1 when one is an error."""
    found = list(problems)
    counts = {severity: sum(p.severity == severity for p in found) for severity in _COLOURS}
    if json_output:
        shown = [problem.to_json() for problem in found]
        print_json({"schema_version": 1, "path": path, "problems": shown, **more})
    else:
        from rich.text import Text

        console = out()
        for problem in found:
            line = Text(f"{problem.file}:{problem.line}: ")
            line.append(problem.severity, style=_COLOURS[problem.severity])
            line.append(f": {problem.message} [{problem.rule}]")
            console.print(line, soft_wrap=True)
        words = [f"{n} {word}{'' if n == 1 else 's'}" for word, n in counts.items() if n]
        console.print(f"{path}: {', '.join(words) or 'no problems'}", markup=False, soft_wrap=True)
    if counts["error"]:
        raise typer.Exit(FOUND_ERRORS)


def _explain(rule_id: str, json_output: bool) -> None:
    from dataclasses import asdict

    from hat.errors import BadInput
    from hat.harness.rules import RULES
    from hat.nearest import known_names

    rule = RULES.get(rule_id)
    if rule is None:
        raise BadInput(f"no rule {rule_id!r}", mend=known_names(rule_id, RULES))
    if json_output:
        print_json({"schema_version": 1, **asdict(rule)})
    else:
        _say(f"{rule.id} ({rule.severity}): {rule.summary}.\n\n{rule.explanation}")


def _lint_target(path: str, registry: Path | None) -> Path:
    """A path as given; where there is none, the folder of a NAME[@VERSION]."""
    from hat.errors import BadInput
    from hat.harness.registry import Registry

    if Path(path).exists():
        return Path(path)
    if "/" in path or Path(path).suffix in _FILE_ENDINGS:
        raise BadInput("no such file or folder", where=path)
    root = Registry(registry_folder(registry))
    try:
        name, version = root.parse(path)
        return root.root / name if version is None and name in root.names() else root.folder(name, version)
    except BadInput as error:
        raise BadInput(f"no such file or folder, and {error.what}", where=path, mend=error.mend) from None


def _harness(reference: str, registry: Path | None) -> "Harness":
    """The harness of a NAME[@VERSION] or of a version's folder."""
    from hat.harness.load import load_harness
    from hat.harness.registry import Registry

    if _is_folder(reference):
        return load_harness(Path(reference))
    root = Registry(registry_folder(registry))
    return root.load(*root.parse(reference))


def _folder(reference: str, registry: Path | None) -> Path:
    """The folder of a NAME[@VERSION], or the version's folder itself."""
    from hat.harness.registry import Registry

    if _is_folder(reference):
        return Path(reference)
    root = Registry(registry_folder(registry))
    return root.folder(*root.parse(reference))


def _is_folder(reference: str) -> bool:
    return "/" in reference or Path(reference, "harness.yaml").is_file()


def _say(text: str) -> None:
    out().print(text, markup=False, soft_wrap=True)


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)
