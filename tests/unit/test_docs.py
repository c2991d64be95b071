"""The documentation holds: links resolve, commands parse, named files exist, examples print what is shown."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from pipelines.cli.main import app
from tests.support.examples import pages_with_examples, with_outputs

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *REPOSITORY.glob("*.md"),
        *(page for folder in ("docs", "components", "tests") for page in (REPOSITORY / folder).rglob("*.md")),
    ]
)
FOLDERS = (
    "benchmarks",
    "components",
    "docs",
    "harness_registry",
    "hat",
    "images",
    "manifests",
    "pipelines",
    "tests",
    ".ci",
)

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.M | re.S)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
_LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.M)
_DOTTED = re.compile(r"(?:hat|pipelines|components)(?:\.\w+)+")


def by_page(pages: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", pages, ids=lambda page: str(page.relative_to(REPOSITORY)))


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    return _FENCE.sub("", read(page))


def spans(page: Path) -> list[str]:
    """Contents of code spans in running text, each on one line."""
    return [" ".join(match[2].split()) for match in _SPAN.finditer(prose(page))]


def typed_lines(page: Path) -> Iterator[str]:
    """Lines of plain code blocks that begin with `hat`: what a reader copies."""
    for fence in _FENCE.finditer(read(page)):
        if fence["language"] in ("", "sh", "bash"):
            lines = (line.partition(" > ")[0] for line in fence["body"].splitlines())
            yield from (line for line in lines if line.startswith("hat "))


def find_command(words: list[str]):
    """The command that the words after `hat` name, its name, and the words that are left."""
    command, name = typer.main.get_command(app), "hat"
    while hasattr(command, "commands"):
        two = " ".join(words[:2])
        taken = 2 if two in command.commands else 1
        name, words = " ".join(words[:taken]), words[taken:]
        assert name in command.commands, f"there is no command {name!r}"
        command = command.commands[name]
    return command, name, words


def anchors(page: Path) -> set[str]:
    """Fragments that a page's headings have on the usual hosts."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in plain}


@by_page(PAGES)
def test_relative_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    for match in _LINK.finditer(_SPAN.sub("", prose(page))):
        target, _, fragment = match["target"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        led_to = (page.parent / target).resolve() if target else page
        assert led_to.exists(), match["target"]
        assert not fragment or fragment in anchors(led_to), match["target"]


@by_page([page for page in PAGES if any(typed_lines(page))])
def test_commands_in_code_blocks_parse(page: Path) -> None:
    for line in typed_lines(page):
        command, name, words = find_command(shlex.split(line, comments=True)[1:])
        try:
            command.make_context(name, words)
        except Exception as error:
            raise AssertionError(f"{line}: {error}") from error


@by_page(PAGES)
def test_commands_and_options_in_running_text_exist(page: Path) -> None:
    for span in spans(page):
        if not span.startswith("hat "):
            continue
        command, _, words = find_command(shlex.split(span)[1:])
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= known, span


@by_page(PAGES)
def test_files_named_in_running_text_exist(page: Path) -> None:
    for span in spans(page):
        if span.split("/")[0] in FOLDERS and "/" in span and not re.search(r"[<*\s]|\.\.\.", span):
            assert (REPOSITORY / span).exists(), span


@by_page(PAGES)
def test_python_names_in_running_text_exist(page: Path) -> None:
    for span in spans(page):
        if _DOTTED.fullmatch(span):
            assert is_defined(span), span


def is_defined(name: str) -> bool:
    """Whether a dotted name is a module, or occurs in the source of the module before it. Imports no model code."""
    parts = name.split(".")
    folder, module = REPOSITORY, REPOSITORY
    for position, part in enumerate(parts):
        module = folder / f"{part}.py"
        if module.is_file():
            source, rest = read(module), parts[position + 1 :]
            return all(re.search(rf"\b{re.escape(left)}\b", source) for left in rest)
        folder = folder / part
        if not folder.is_dir():
            package = read(folder.parent / "__init__.py")
            return all(re.search(rf"\b{re.escape(left)}\b", package) for left in parts[position:])
    return (folder / "__init__.py").is_file()


@by_page(pages_with_examples())
def test_python_examples_print_what_is_shown(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    text = read(page)
    assert with_outputs(text, page.name) == text, "run python -m tests.support.examples and read the change"


def test_the_index_lists_every_page() -> None:
    index = REPOSITORY / "docs" / "README.md"
    listed = {(index.parent / match["target"]).resolve() for match in _LINK.finditer(read(index))}
    for folder in ("concepts", "how-to"):
        assert set((REPOSITORY / "docs" / folder).glob("*.md")) <= listed
