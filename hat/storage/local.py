"""A store in a folder of this machine."""

import hashlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from hat.errors import BadInput
from hat.files import as_environment_failure
from hat.storage.base import ObjectStore
from hat.storage.interface import Conflict, NotFound, Stored, check_key
from hat.storage.lock import file_lock

# One folder for locks and half-written objects, on the same file system as the objects.
_PRIVATE = ".hat-store"
_LOCKS = 64


class LocalStore(ObjectStore):
    """Keys are paths below ``root``; an etag is the content's hex SHA-256."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root).expanduser().resolve()
        self.url = str(self.root)

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        path = self._path(key)
        with self._staged(path) as (handle, temporary):
            handle.write(data)
            _flush(handle)
            with self._key_lock(key):
                if if_match is not None and self._etag(path) != if_match:
                    raise Conflict("changed since it was read", where=f"{self.url} {key}")
                if if_absent:
                    self._link(temporary, path, key)
                else:
                    os.replace(temporary, path)
                _flush_folder(path.parent)
        return hashlib.sha256(data).hexdigest()

    def read(self, key: str) -> Stored:
        path = self._path(key)
        try:
            data = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise self._not_found(key) from error
        except OSError as error:
            raise as_environment_failure(error, path, "read") from error
        return Stored(data, hashlib.sha256(data).hexdigest())

    def exists(self, key: str) -> bool:
        return self._path(key).is_file()

    def list(self, prefix: str = "") -> list[str]:
        start = self._path(prefix) if prefix else self.root
        if start.is_file():
            return [prefix]
        keys = [
            Path(folder, name).relative_to(self.root).as_posix()
            for folder, _, names in os.walk(start, onerror=_unless_absent)
            for name in names
        ]
        return sorted(key for key in keys if not key.startswith(f"{_PRIVATE}/"))

    def delete(self, key: str) -> None:
        path = self._path(key)
        try:
            with self._key_lock(key):
                path.unlink()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return
        except OSError as error:
            raise as_environment_failure(error, path) from error

    def put_file(self, path: Path, key: str) -> None:
        target = self._path(key)
        if not Path(path).is_file():
            raise BadInput("no such file", where=str(path))
        with self._staged(target) as (handle, temporary):
            with open(path, "rb") as source:
                shutil.copyfileobj(source, handle, 1 << 22)
            _flush(handle)
            with self._key_lock(key):
                os.replace(temporary, target)

    def get_file(self, key: str, path: Path) -> None:
        source = self._path(key)
        if not source.is_file():
            raise self._not_found(key)
        path = Path(path)
        temporary = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, temporary)
            os.replace(temporary, path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise as_environment_failure(error, path) from error

    def local_path(self, key: str) -> Path | None:
        return self._path(key)

    def _path(self, key: str) -> Path:
        if check_key(key).split("/")[0] == _PRIVATE:
            raise BadInput(f"{_PRIVATE} is the store's own", where=f"{self.url} {key}")
        return self.root / key

    @contextmanager
    def _staged(self, target: Path) -> Iterator[tuple[BinaryIO, Path]]:
        """A new file outside the key space, removed afterwards unless it was moved to ``target``."""
        temporary = None
        try:
            (self.root / _PRIVATE).mkdir(parents=True, exist_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.root / _PRIVATE)
            temporary = Path(name)
            os.chmod(temporary, 0o644)  # mkstemp makes files private; a store may be shared
            with os.fdopen(descriptor, "wb") as handle:
                yield handle, temporary
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise BadInput("a key cannot lie below another object's key", where=str(target)) from error
        except OSError as error:
            raise as_environment_failure(error, target) from error
        finally:
            if temporary is not None:
                temporary.unlink(missing_ok=True)

    def _key_lock(self, key: str) -> AbstractContextManager[None]:
        slot = zlib.crc32(key.encode("utf-8")) % _LOCKS
        return file_lock(self.root / _PRIVATE / f"lock-{slot}")

    def _link(self, temporary: Path, path: Path, key: str) -> None:
        # A hard link fails where the name exists: one winner even on file systems without locks.
        try:
            os.link(temporary, path)
        except FileExistsError as error:
            raise Conflict("exists already", where=f"{self.url} {key}") from error

    def _etag(self, path: Path) -> str | None:
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except (FileNotFoundError, IsADirectoryError):
            return None

    def _not_found(self, key: str) -> NotFound:
        return NotFound("nothing is stored there", where=f"{self.url} {key}")


def _unless_absent(error: OSError) -> None:
    """A folder that cannot be read is not an empty one: a ledger in it would look as if nothing were in production."""
    if not isinstance(error, FileNotFoundError):
        raise as_environment_failure(error, Path(error.filename), "read") from error


def _flush(handle: BinaryIO) -> None:
    handle.flush()
    os.fsync(handle.fileno())


def _flush_folder(folder: Path) -> None:
    """Make a new name survive a power cut: it is the folder's content, not the file's."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
