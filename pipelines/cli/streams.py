"""Standard output and standard error whose reader leaves, as in `hat ... | head -1`: the program ends quietly."""

import io
import os
import sys
from typing import Any, TextIO

READER_GONE = 141
"""128 + SIGPIPE: what a shell says of a program that wrote to a pipe which nobody reads.

The signal itself stays ignored: by default it would also end a service whose client hangs up.
"""


class _Output(io.FileIO):
    """A descriptor that fails once at most: what is written after that is lost."""

    def __init__(self, descriptor: int, *, ends: bool) -> None:
        # The stream that it replaces must stay usable: its descriptor is not closed with this one.
        super().__init__(descriptor, "wb", closefd=False)
        self._ends = ends
        self._failed = False

    def write(self, data: Any, /) -> int:
        if not self._failed:
            try:
                return super().write(data)
            except BrokenPipeError:
                self._failed = True
                if self._ends:
                    raise SystemExit(READER_GONE) from None
            except OSError:
                self._failed = True
                raise
        return memoryview(data).nbytes


def guard_standard_streams() -> None:
    """Replace both streams: results that nobody can read end the program, progress and remarks do not.

    Where a stream is closed (`>&-`), what is written to it is lost.
    """
    sys.stdout = _guarded(sys.stdout, ends=True)
    sys.stderr = _guarded(sys.stderr, ends=False)


def _guarded(stream: Any, *, ends: bool) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # for as long as the program runs
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), ends=ends)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
