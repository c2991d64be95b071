"""Hooks of type ``command``: run in a child process that gets nothing of ours and cannot run on.

The public protocol: JSON on stdin; exit status 0 passes, 2 blocks and stderr says why, any other is an error that does
not block. They run only where a profile sets ``hooks.allow_commands``.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hat.harness.model import CommandHook

BLOCKED = 2
OUTPUT_BYTES = 64 * 1024
"""Of stdout and stderr together; a command that writes more is stopped."""
PROCESSOR_SECONDS = 10
MEMORY_KIB = 512 * 1024
FILE_BLOCKS = 2048
"""Of 512 bytes: no file that a command writes may be larger."""
OPEN_FILES = 64
ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
"""All that a command gets, beside HOME and TMPDIR, which are its own empty folder."""
# The shell sets the limits on itself, so that no code of ours runs between fork and exec of a threaded process.
_LIMITED = (
    f"ulimit -c 0; ulimit -t {PROCESSOR_SECONDS}; ulimit -v {MEMORY_KIB}; ulimit -f {FILE_BLOCKS}; "
    f'ulimit -n {OPEN_FILES}; exec /bin/sh -c "$1"'
)


@dataclass(frozen=True)
class CommandOutcome:
    """What became of a command."""

    status: Literal["passed", "blocked", "error"]
    message: str
    """For ``blocked``, what stderr said; for ``error``, what went wrong."""


def run_command(hook: CommandHook, payload: Mapping[str, Any]) -> CommandOutcome:
    """Run the command in an empty folder of its own and a process group of its own, of which nothing is left behind.

    A command that takes longer or writes more than it may is stopped: an error, which does not block.
    """
    document = json.dumps(dict(payload), ensure_ascii=False).encode("utf-8", "replace")
    with tempfile.TemporaryDirectory(prefix="hat-hook-") as home, tempfile.TemporaryFile() as stdin:
        # A file, not a pipe: a command that does not read its input must not make us wait.
        stdin.write(document)
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _LIMITED, "hook", hook.command],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=home,
                env={**ENVIRONMENT, "HOME": home, "TMPDIR": home},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return CommandOutcome("error", f"cannot be started: {error}")
        try:
            said, problem = _read(process, hook.timeout_seconds)
        finally:
            _stop(process)
    if problem:
        return CommandOutcome("error", problem)
    if process.returncode == BLOCKED:
        return CommandOutcome("blocked", said.strip() or "blocked by a command that gave no reason")
    if process.returncode:
        return CommandOutcome("error", f"exit status {process.returncode}: {said.strip()[:200]}")
    return CommandOutcome("passed", "")


def _read(process: "subprocess.Popen[bytes]", seconds: float) -> tuple[str, str]:
    """What stderr said, and the problem that ended the reading; empty when the command ended by itself."""
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = time.monotonic() + seconds
    stderr = bytearray()
    total = 0
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                return "", f"stopped after {seconds:g} seconds"
            for key, _ in ready:
                data = os.read(key.fd, 8192)
                if not data:
                    selector.unregister(key.fileobj)
                total += len(data)
                if key.fileobj is process.stderr:
                    stderr += data
            if total > OUTPUT_BYTES:
                return "", f"stopped: more than {OUTPUT_BYTES} bytes of output"
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "", f"stopped after {seconds:g} seconds"
    return stderr.decode("utf-8", "replace"), ""


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End the whole group, with whatever the command left running in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
