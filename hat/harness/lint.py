"""The linter: all that is wrong with a harness, a version or a file, each finding with rule and line."""

from pathlib import Path

from hat.errors import BadInput
from hat.harness.digest import digest_folder
from hat.harness.linting.bindings import check_bindings
from hat.harness.linting.budget import check_budget
from hat.harness.linting.content import check_content
from hat.harness.linting.distinct import check_distinct
from hat.harness.linting.hooks import check_hooks
from hat.harness.linting.limits import check_limits
from hat.harness.linting.loose import lint_loose_file, lint_plugin
from hat.harness.linting.skills import check_skills
from hat.harness.linting.subject import DomainTerms, Subject, domain_terms
from hat.harness.linting.symbols import check_symbols
from hat.harness.linting.templates import check_templates
from hat.harness.linting.versions import check_locked, check_parent, check_versions_folder
from hat.harness.load import MANIFEST, Reading, read_harness
from hat.harness.model import Harness
from hat.harness.problems import BadHarness, Problem, Problems
from hat.harness.reading.plugin_file import PLUGIN_FILE
from hat.harness.versions import LOCK_FILE, is_version, read_lock, version_key

_RULES = (
    check_bindings, check_skills, check_hooks, check_limits, check_symbols, check_templates, check_distinct,
    check_budget, check_content,
)  # fmt: skip


def lint_path(path: Path) -> tuple[Problem, ...]:
    """The problems of a registry, harness, version or plugin folder, or of a single file of one of them.

    Raises:
        BadInput: there is nothing at ``path``, or nothing that belongs to a harness.
    """
    path = Path(path)
    if path.is_file() and not path.is_symlink():
        return _lint_file(path)
    if not path.is_dir():
        raise BadInput("no such file or folder", where=str(path))
    if (path / "versions").is_dir():
        return lint_harness(path)
    if (path / MANIFEST).exists() or _versions_folder(path):
        return lint_version(path)
    harnesses = sorted(entry for entry in path.iterdir() if (entry / "versions").is_dir())
    if harnesses:
        return tuple(problem for entry in harnesses for problem in lint_harness(entry))
    if (path / PLUGIN_FILE).is_file():
        return lint_plugin(path)
    raise BadInput(
        "neither a version, a harness, a registry nor a plugin",
        where=str(path),
        mend=f"A version folder has {MANIFEST}, a harness folder has versions/.",
    )


def lint_harness(folder: Path) -> tuple[Problem, ...]:
    """All versions of a harness, and its lock."""
    problems = Problems()
    lock = read_lock(folder / LOCK_FILE, problems)
    check_versions_folder(folder, lock, problems)
    readings = {version: _read(folder / "versions" / version) for version in _siblings(folder)}
    found = [*problems.found]
    for version in readings:
        found += _lint_version(folder / "versions" / version, readings)
    return tuple(sorted(set(found)))


def lint_version(folder: Path) -> tuple[Problem, ...]:
    """One version: its format, its meaning in its domain and, inside a registry, its parent and lock."""
    # Relative paths such as "." have no name of their own.
    folder = folder if folder.name else folder.resolve()
    readings = {folder.name: _read(folder)}
    return tuple(sorted(set(_lint_version(folder, readings))))


def _lint_version(folder: Path, readings: dict[str, Reading]) -> list[Problem]:
    reading = readings[folder.name]
    problems = Problems(list(reading.problems))
    terms = _terms(reading, problems)
    subject = Subject(reading, terms, _parent(folder, reading, readings))
    for rule in _RULES:
        rule(subject, problems)
    if _versions_folder(folder):
        check_parent(subject, _siblings(folder.parents[1]), problems)
        lock = read_lock(folder.parents[1] / LOCK_FILE, problems)
        check_locked(subject, lock, _digest(reading), problems)
    return problems.found


def _lint_file(path: Path) -> tuple[Problem, ...]:
    """A file of a version is judged within that version, any other by its own format alone."""
    for depth in (2, 1, 0):
        absolute = path.absolute()
        if len(absolute.parents) > depth and (absolute.parents[depth] / MANIFEST).is_file():
            folder = path.parents[depth] if len(path.parents) > depth else absolute.parents[depth]
            inside = absolute.relative_to(absolute.parents[depth])
            return tuple(
                problem
                for problem in lint_version(folder)
                if Path(problem.file).absolute() == absolute or problem.file == str(folder / inside)
            )
    return lint_loose_file(path)


def _read(folder: Path) -> Reading:
    if not _versions_folder(folder):
        return read_harness(folder)
    return read_harness(folder, name=folder.absolute().parents[1].name, version=folder.name)


def _versions_folder(folder: Path) -> bool:
    """True for a version's folder in the registry's layout."""
    return folder.absolute().parent.name == "versions"


def _siblings(harness_folder: Path) -> list[str]:
    folders = (harness_folder / "versions").iterdir()
    return sorted((path.name for path in folders if is_version(path.name) and path.is_dir()), key=version_key)


def _parent(folder: Path, reading: Reading, readings: dict[str, Reading]) -> Harness | None:
    parent = reading.manifest.parent if reading.manifest else None
    if parent is None or not _versions_folder(folder) or not (folder.parent / parent).is_dir():
        return None
    if parent not in readings:
        readings[parent] = _read(folder.parent / parent)
    return readings[parent].harness


def _terms(reading: Reading, problems: Problems) -> DomainTerms | None:
    if reading.manifest is None or reading.manifest_source is None:
        return None
    try:
        return domain_terms(reading.manifest.domain)
    except BadInput as error:
        line = reading.manifest_source.line("domain")
        problems.add("unknown-domain", reading.folder / MANIFEST, f"{error.what}. {error.mend}".strip(), line)
        return None


def _digest(reading: Reading) -> str | None:
    if reading.harness is not None:
        return reading.harness.digest
    try:
        return digest_folder(reading.folder)
    except BadHarness:
        return None
