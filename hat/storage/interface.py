"""What every store can do, and the names and errors that all stores share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hat.errors import BadInput, EnvironmentFailure
from hat.storage.tree import TreeManifest


class NotFound(BadInput):
    """The store holds nothing under that key."""


class Conflict(EnvironmentFailure):
    """A conditional write lost: the key was there already, or no longer had the expected content."""


@dataclass(frozen=True)
class Stored:
    """One object as read: its bytes and the tag to give to ``put(if_match=...)``."""

    data: bytes
    etag: str


class Store(Protocol):
    """Objects under ``/``-separated keys, with conditional writes and all-or-nothing trees.

    Keys never begin or end with ``/`` and hold no empty, ``.`` or ``..`` part. Every method raises
    `EnvironmentFailure` when the disk or the server fails.
    """

    url: str

    def preflight(self) -> None:
        """Write, read and delete one small object, so that a wrong setting shows before any work.

        Raises:
            BadInput: a setting is wrong; the message names it.
            EnvironmentFailure: the store cannot be reached or written.
        """

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """Store ``data`` under ``key`` and return its etag; readers see all of it or none.

        Raises:
            Conflict: ``if_absent`` and the key exists, or ``if_match`` is not the etag of what is there.
        """

    def read(self, key: str) -> Stored:
        """The object's bytes with their etag. Raises `NotFound`."""

    def get(self, key: str) -> bytes:
        """The object's bytes. Raises `NotFound`."""

    def exists(self, key: str) -> bool:
        """Whether an object has exactly this key."""

    def list(self, prefix: str = "") -> list[str]:
        """All keys below ``prefix`` (whole parts: ``a/b`` covers ``a/b/c``, not ``a/bc``), sorted."""

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens where there is none."""

    def put_file(self, path: Path, key: str) -> None:
        """Store a file's content under ``key``, streamed."""

    def get_file(self, key: str, path: Path) -> None:
        """Write the object to ``path``, streamed; ``path`` appears only when complete. Raises `NotFound`."""

    def local_path(self, key: str) -> Path | None:
        """Where this key or prefix lies on this machine's disk, to be read in place; None if it does not."""

    def put_tree(self, folder: Path, prefix: str, names: tuple[str, ...] | None = None) -> TreeManifest:
        """Store a folder below ``prefix``, its manifest last: a half-written tree is never seen.

        ``names`` (relative paths) picks the files; by default all are taken and symbolic links refused.
        Storing the same content again is a no-op. Two writers of different content at once are not
        kept apart; the damage is found when the tree is read.

        Raises:
            Conflict: a complete tree with other content is there. Trees are immutable.
        """

    def tree(self, prefix: str) -> TreeManifest | None:
        """The manifest of the complete tree at ``prefix``, or None."""

    def get_tree(self, prefix: str, folder: Path) -> TreeManifest:
        """Copy the tree at ``prefix`` to ``folder``, which must not exist and appears only when complete.

        Raises:
            NotFound: no complete tree is there.
            EnvironmentFailure: a file is missing or does not have the content its manifest promises.
        """

    def delete_tree(self, prefix: str) -> None:
        """Remove the tree, its manifest first."""


def check_key(key: str) -> str:
    """Return ``key`` if it is a legal one.

    Raises:
        BadInput: it is empty, absolute, or holds an empty, ``.`` or ``..`` part, a backslash or a control
            character.
    """
    parts = key.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in key or any(ord(c) < 32 for c in key):
        raise BadInput(f"not a legal store key: {key!r}", mend="Use parts joined by '/', none empty or '..'.")
    return key
