"""Atomic file writes, JSON in one fixed form, and the digests made from it."""

import errno
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from hat.errors import BadInput, EnvironmentFailure

_CHUNK_BYTES = 1 << 20
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` so that ``path`` holds either its old content or all of the new.

    A symbolic link is followed: what it points to is written, the link stays.

    Raises:
        BadInput: there is something there that is no regular file, such as a device or a folder.
        EnvironmentFailure: the disk is full or the folder cannot be written.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise BadInput("there is something that is no regular file", where=str(path), mend="Name a file.")
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        # mkstemp makes files private; readers of a shared store need the usual rights.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise as_environment_failure(error, path) from error


def write_text_atomic(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically (see `write_bytes_atomic`)."""
    write_bytes_atomic(path, text.encode("utf-8"))


def write_json_atomic(path: Path, value: Any) -> None:
    """Write ``value`` as readable JSON, atomically. NaN is refused: it is not JSON."""
    write_text_atomic(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read one JSON document.

    Raises:
        BadInput: the file is absent, is not UTF-8 or is not JSON.
    """
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput("no such file", where=str(path)) from error
    except RecursionError as error:
        raise BadInput("nested too deeply", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 at byte {error.start}", where=str(path)) from error
    except json.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from error


def canonical_json(value: Any) -> str:
    """The one JSON text of a value (sorted keys, no spaces, not ASCII-escaped): what digests are made of."""
    return _CANONICAL.encode(value)


def sha256_text(text: str) -> str:
    """Hex SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while chunk := handle.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def as_environment_failure(error: OSError, path: Path, done: str = "written") -> EnvironmentFailure:
    """The user's message for a path that cannot be ``done``."""
    if error.errno == errno.ENOSPC:
        return EnvironmentFailure("the disk is full", where=str(path), mend="Free space and run again.")
    return EnvironmentFailure(
        f"cannot be {done}: {error.strerror or error}",
        where=str(path),
        mend="Check the path and its rights.",
    )
