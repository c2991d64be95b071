"""Folders in a store: files first, manifest last, so that a half-written tree is never seen."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hat.errors import BadInput, EnvironmentFailure
from hat.files import as_environment_failure, canonical_json, sha256_file, sha256_text

MANIFEST_NAME = ".tree.json"


@dataclass(frozen=True)
class TreeFile:
    """One file of a tree: path relative to its root with ``/``, size in bytes, hex SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class TreeManifest:
    """The files of one tree, sorted by path."""

    files: tuple[TreeFile, ...]

    @property
    def digest(self) -> str:
        """Hex SHA-256 over the paths and contents."""
        return sha256_text(canonical_json([[file.path, file.sha256] for file in self.files]))

    def to_bytes(self) -> bytes:
        """The manifest as the store keeps it."""
        files = [{"path": file.path, "size": file.size, "sha256": file.sha256} for file in self.files]
        return canonical_json({"schema_version": 1, "kind": "tree", "files": files}).encode("utf-8")

    @staticmethod
    def from_bytes(data: bytes, where: str) -> "TreeManifest":
        """Parse a stored manifest. Raises `EnvironmentFailure` when it is damaged."""
        try:
            entries: list[dict[str, Any]] = json.loads(data)["files"]
            files = tuple(TreeFile(str(e["path"]), int(e["size"]), str(e["sha256"])) for e in entries)
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged("the manifest cannot be read", where) from error
        for file in files:
            # A manifest decides where files are written: it must not reach outside the folder.
            if file.path.startswith("/") or any(part in ("", ".", "..") for part in file.path.split("/")):
                raise _damaged(f"the manifest names the file {file.path!r}", where)
        return TreeManifest(files)


def scan(folder: Path, names: tuple[str, ...] | None = None) -> TreeManifest:
    """The manifest of a folder on disk; ``names`` picks files, by default all below it.

    Raises:
        BadInput: the folder is absent or holds no file, a named file is absent, or the walk meets a
            symbolic link.
    """
    if not folder.is_dir():
        raise BadInput("no such folder", where=str(folder))
    chosen = sorted(_walk(folder) if names is None else names)
    if not chosen:
        raise BadInput("the folder holds no files", where=str(folder))
    files = []
    for name in chosen:
        path = folder / name
        if not path.is_file():
            raise BadInput("no such file", where=str(path))
        files.append(TreeFile(name, path.stat().st_size, sha256_file(path)))
    return TreeManifest(tuple(files))


def verify(folder: Path, manifest: TreeManifest, where: str) -> None:
    """Check that ``folder`` holds exactly the manifest's content.

    Raises:
        EnvironmentFailure: a file is missing or differs.
    """
    for file in manifest.files:
        path = folder / file.path
        if not path.is_file():
            raise _damaged(f"{file.path} is missing", where)
        if path.stat().st_size != file.size or sha256_file(path) != file.sha256:
            raise _damaged(f"{file.path} does not have the content its manifest promises", where)


def fetch(manifest: TreeManifest, folder: Path, get_file: Callable[[str, Path], None], where: str) -> None:
    """Bring a tree to ``folder`` through a staging folder beside it, verified before it appears.

    ``get_file(relative path, target)`` copies one file.

    Raises:
        BadInput: ``folder`` exists and is not empty.
        EnvironmentFailure: a file is missing or differs, or the disk is full.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput("the folder exists already", where=str(folder), mend="Name one that does not.")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise as_environment_failure(error, folder) from error
    try:
        for file in manifest.files:
            get_file(file.path, staging / file.path)
        verify(staging, manifest, where)
        staging.chmod(0o755)  # mkdtemp makes it private
        os.replace(staging, folder)
    except OSError as error:
        raise as_environment_failure(error, folder) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _walk(folder: Path) -> list[str]:
    found = []
    for directory, subfolders, names in os.walk(folder):
        for name in [*subfolders, *names]:
            path = Path(directory, name)
            if path.is_symlink():
                raise BadInput("a symbolic link in a tree to be stored", where=str(path))
        found += [Path(directory, name).relative_to(folder).as_posix() for name in names]
    return [name for name in found if name != MANIFEST_NAME]


def _damaged(what: str, where: str) -> EnvironmentFailure:
    return EnvironmentFailure(f"damaged tree: {what}", where=where, mend="Delete it and store it again.")
