"""The digest of a harness folder: SHA-256 over sorted pairs of NFC path and raw-byte SHA-256."""

import hashlib
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from hat.files import sha256_file
from hat.harness.problems import BadHarness, Problems
from hat.harness.reading.bundle import list_files


def folder_files(folder: Path) -> list[Path]:
    """All files below ``folder``, sorted by path.

    Raises:
        BadHarness: a symbolic link, a special file, or more than the limits allow.
    """
    problems = Problems()
    files = list_files(folder, problems)
    if problems.errors:
        raise BadHarness(problems.sorted(), where=str(folder))
    return files


def digest_folder(folder: Path) -> str:
    """Hex digest of all files below ``folder``. Raises `BadHarness` as `folder_files` does."""
    return digest_files(folder, folder_files(folder))


def digest_files(folder: Path, files: Iterable[Path]) -> str:
    """Hex digest of ``files``, which lie below ``folder``."""
    pairs = sorted(
        (unicodedata.normalize("NFC", path.relative_to(folder).as_posix()), sha256_file(path))
        for path in files
    )
    digest = hashlib.sha256()
    for name, file_digest in pairs:
        digest.update(f"{name}\0{file_digest}\n".encode())
    return digest.hexdigest()
