"""Ends a step when the process that drives its run is gone, so that nothing trains for nobody."""

import os
import signal
import threading
import time

RUNNER = "HAT_RUNNER_PID"
_INTERVAL_SECONDS = 0.5


def die_with_runner() -> None:
    """Watch the process named by ``HAT_RUNNER_PID``, if any, and kill this one when it ends.

    A kill, not an exit: the journal makes a step's result appear only when it is complete.
    """
    runner = int(os.environ.get(RUNNER, "0"))
    if runner:
        threading.Thread(target=_watch, args=(runner,), name="runner-watch", daemon=True).start()


def _watch(runner: int) -> None:
    while is_alive(runner):
        time.sleep(_INTERVAL_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as handle:
            return handle.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it ended just now, or this system has no /proc
        return not os.path.isdir("/proc/self")
