"""Runs one unit's process: starts it, notes what it costs while it lives, and takes its outcome."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure, HatError
from hat.files import read_json
from hat.home import hat_home, store_url
from hat.reproduce.attempts import Attempt, note_attempts, read_attempts, seen_now
from hat.reproduce.request import LOG, OUTCOME, Outcome
from hat.runs import places, watch
from hat.runs.progress import Event, Reader
from hat.steps.journal import ERROR_MARK
from hat.threads import thread_settings

_POLL_SECONDS = 0.5
_NOTE_SECONDS = 5.0
"""How much of a killed attempt's cost may go unnoticed."""


def work(
    folder: Path, run: str, code_version: str, on_event: Callable[[Event | None], None]
) -> tuple[Outcome, list[Attempt]]:
    """Run the process in its working ``folder`` to its end.

    Args:
        run: name under which the step journal knows it.
        on_event: called with each event of the steps, and now and then with None.

    Returns:
        The outcome and all attempts that led to it.

    Raises:
        BadInput: the unit's settings or data are wrong.
        EnvironmentFailure: the process was killed or the surroundings failed.
    """
    attempts = read_attempts(folder, code_version)
    (folder / OUTCOME).unlink(missing_ok=True)
    events = Reader(folder)
    events.skip_to_end()
    attempt = Attempt(started=datetime.now(UTC).isoformat(timespec="seconds"), code_version=code_version)
    begun = noted = time.monotonic()
    with open(folder / LOG, "a", encoding="utf-8") as log:
        start_of_log = log.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "hat.reproduce.child", str(folder)],
            env=_environment(run),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                for event in events.events():
                    on_event(event)
                if pid:
                    break
                on_event(None)
                if time.monotonic() - noted > _NOTE_SECONDS:
                    noted = time.monotonic()
                    cpu, peak = seen_now(process.pid)
                    attempt = _at(attempt, noted - begun, cpu, peak)
                    note_attempts(folder, [*attempts, attempt])
                time.sleep(_POLL_SECONDS)
        except BaseException:
            _kill(process.pid)
            raise
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    attempt = _at(attempt, time.monotonic() - begun, usage.ru_utime + usage.ru_stime, peak)
    note_attempts(folder, [*attempts, attempt])
    if process.returncode != 0:
        raise _failure(folder / LOG, start_of_log, process.returncode)
    return Outcome.model_validate(read_json(folder / OUTCOME)), [*attempts, attempt]


def _at(attempt: Attempt, wall: float, cpu: float, peak: int) -> Attempt:
    costs = {"wall_seconds": round(wall, 1), "cpu_seconds": round(cpu, 1), "peak_memory_bytes": peak}
    return attempt.model_copy(update=costs)


def _environment(run: str) -> dict[str, str]:
    sources = Path(__file__).resolve().parents[2]
    store = store_url()
    return {
        **os.environ,
        "HAT_HOME": str(hat_home()),
        "HAT_STORE": store if "://" in store else str(Path(store).resolve()),
        places.RUN: run,
        watch.RUNNER: str(os.getpid()),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(sources), os.environ.get("PYTHONPATH")))),
        "PYTHONUNBUFFERED": "1",
        **thread_settings(os.environ),
    }


def _failure(log: Path, start: int, status: int) -> HatError:
    """What the process said of its failure; that it was killed where it said nothing."""
    with open(log, "rb") as handle:
        handle.seek(start)
        lines = handle.read().decode("utf-8", errors="replace").splitlines()
    for line in reversed(lines):
        if line.startswith(ERROR_MARK):
            told = json.loads(line.removeprefix(ERROR_MARK))
            kind = BadInput if told["exit_status"] == BadInput.exit_status else EnvironmentFailure
            return kind(told["message"])
    what = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    mend = f"Its log is {log}. Run the command again: the unit goes on from its last checkpoint."
    return EnvironmentFailure(f"the unit's process {what}, perhaps for want of memory", mend=mend)


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError, PermissionError):
        return
