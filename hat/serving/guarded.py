"""Runs a command that must not outlive whoever started it: ``python -m hat.serving.guarded PARENT COMMAND...``.

A server in another interpreter cannot watch over itself as our own steps do (`hat.runs.watch`). The command gets a
process group of its own, which ends, children included, when the process PARENT is gone or this one is asked to end.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from hat.runs.watch import is_alive

_INTERVAL_SECONDS = 0.5
_GRACE_SECONDS = 20.0
_NOT_PASSED_ON = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
"""Of our interpreter; the command's has modules of its own."""
_SECRET = ("AWS_", "HAT_")


def main(arguments: list[str]) -> int:
    """Run the command to its end; its exit status."""
    parent, command = int(arguments[0]), arguments[1:]
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: asked.append(received))
    process = subprocess.Popen(command, env=foreign_environment(), start_new_session=True)
    while process.poll() is None and not asked and is_alive(parent):
        time.sleep(_INTERVAL_SECONDS)
    end_group(process)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def foreign_environment() -> dict[str, str]:
    """This process's environment without what is our interpreter's, and without keys that are not the command's."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _NOT_PASSED_ON and not name.startswith(_SECRET)
    }


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Ask a process and its children to end, then make them."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
