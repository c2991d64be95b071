"""A lock between processes of one machine, held on a file."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hat.files import as_environment_failure


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` (created if absent); waits for whoever holds it.

    The kernel drops the lock when its holder dies, so a killed run leaves nothing to clean up. Not reentrant.

    Raises:
        EnvironmentFailure: the lock file cannot be made.
    """
    with _opened(path) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def file_lock_if_free(path: Path) -> Iterator[bool]:
    """Like `file_lock`, but waits for nobody: whether the lock is held here.

    Raises:
        EnvironmentFailure: the lock file cannot be made.
    """
    with _opened(path) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _opened(path: Path) -> IO[bytes]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "ab")
    except OSError as error:
        raise as_environment_failure(error, path) from error
