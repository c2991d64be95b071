"""A lock between processes of one machine, held on a file."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hat.files import as_environment_failure


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` (created if absent); waits for whoever holds it.

    The kernel drops the lock when its holder dies, so a killed run leaves nothing to clean up. Not reentrant.

    Raises:
        EnvironmentFailure: the lock file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path, "ab")  # noqa: SIM115  closed below; the try covers the opening only
    except OSError as error:
        raise as_environment_failure(error, path) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
