"""The digest of a harness folder: SHA-256 over sorted pairs of NFC path and raw-byte SHA-256."""

import hashlib
import unicodedata
from pathlib import Path

from hat.errors import BadInput
from hat.files import sha256_file

MAX_FILES = 5000


def folder_files(folder: Path) -> list[Path]:
    """All files below ``folder``, sorted by path.

    Raises:
        BadInput: a symbolic link, or more than `MAX_FILES` files.
    """
    files = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise BadInput("symbolic links are not allowed in a harness", where=str(path))
        if path.is_file():
            files.append(path)
            if len(files) > MAX_FILES:
                raise BadInput(f"more than {MAX_FILES} files", where=str(folder))
    return files


def digest_folder(folder: Path) -> str:
    """Hex digest of all files below ``folder``."""
    pairs = sorted(
        (unicodedata.normalize("NFC", path.relative_to(folder).as_posix()), sha256_file(path))
        for path in folder_files(folder)
    )
    digest = hashlib.sha256()
    for name, file_digest in pairs:
        digest.update(f"{name}\0{file_digest}\n".encode())
    return digest.hexdigest()
