"""Runs a compiled pipeline on this machine, in one child process that never outlives this one."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

import hat
from hat.errors import EnvironmentFailure
from hat.files import write_json_atomic
from hat.home import hat_home, store_url
from hat.runs import places, watch
from hat.runs.record import RunError
from hat.steps.journal import ERROR_MARK
from hat.threads import thread_settings

LOG = "log.txt"
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.2

Runner = Literal["subprocess", "docker"]
"""How a local run starts its steps."""


@dataclass
class LocalRun:
    """A pipeline that is running in a child process."""

    run: str
    folder: Path
    process: subprocess.Popen[str]
    reader: threading.Thread
    errors: list[RunError] = field(default_factory=list)

    def wait(self, on_tick: Callable[[], None]) -> RunError | None:
        """Wait for the end, calling ``on_tick`` a few times a second; the reason of a failure, or None.

        A KeyboardInterrupt or an error of ``on_tick`` ends the child's whole group first.
        """
        try:
            while True:
                try:
                    status = self.process.wait(_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    on_tick()
        finally:
            self.stop()
            self.reader.join(_GRACE_SECONDS)
        on_tick()
        if self.errors:
            return self.errors[0]
        if status:
            what = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            return RunError(step="", message=f"the runner {what}; its log is {self.log}", exit_status=4)
        return None

    @property
    def log(self) -> Path:
        """The file with everything that kfp and the steps printed."""
        return self.folder / LOG

    def stop(self) -> None:
        """End the child and every process in its group: asked first, then killed."""
        if _signal_group(self.process.pid, signal.SIGTERM):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE_SECONDS)
            _signal_group(self.process.pid, signal.SIGKILL)
            self.process.wait()


def start(package: Path, arguments: Mapping[str, Any], run: str, runner: Runner = "subprocess") -> LocalRun:
    """Start a compiled pipeline as ``run``; its output goes to ``log.txt`` in the run's folder.

    Args:
        runner: ``subprocess``, or ``docker`` for a container a step, in the images that ``arguments`` name.

    Raises:
        EnvironmentFailure: the folder of state cannot serve kfp's runner.
    """
    folder = places.run_folder(run)
    if "python3" in str(folder):
        raise EnvironmentFailure(
            "the path may not hold 'python3': kfp's local runner rewrites that word in every command",
            where=str(folder),
            mend="Set HAT_HOME to another folder.",
        )
    scratch = folder / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    write_json_atomic(folder / "arguments.json", dict(arguments))
    environment = {
        **os.environ,
        "HAT_HOME": str(hat_home()),
        "HAT_STORE": store_url() if "://" in store_url() else str(Path(store_url()).resolve()),
        places.RUN: run,
        watch.RUNNER: str(os.getpid()),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_sources()), os.environ.get("PYTHONPATH")))),
        "PYTHONUNBUFFERED": "1",
        **thread_settings(os.environ),
        "TMPDIR": str(scratch),  # kfp leaves a copy of each component's code in the temporary folder
    }
    command = [sys.executable, "-m", "pipelines.local_child", str(package), str(folder / "arguments.json")]
    process = subprocess.Popen(
        [*command, str(folder), runner],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    errors: list[RunError] = []
    assert process.stdout is not None
    reader = threading.Thread(target=_copy, args=(process.stdout, folder / LOG, errors), daemon=True)
    reader.start()
    return LocalRun(run, folder, process, reader, errors)


def _copy(stream: TextIO, log: Path, errors: list[RunError]) -> None:
    """Append the child's output to the log and pick out why a step failed.

    The reason travels through this pipe because a full disk leaves no other way.
    """
    with open(log, "a", encoding="utf-8") as handle:
        for line in stream:
            text = line.strip()
            if text.startswith(ERROR_MARK):
                errors.append(RunError.model_validate_json(text.removeprefix(ERROR_MARK)))
            try:
                handle.write(line)
                handle.flush()
            except OSError:  # disk full: keep reading, or the child would block
                continue


def _signal_group(pid: int, number: int) -> bool:
    """Send a signal to the group led by ``pid``; whether there was anyone to get it."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _sources() -> Path:
    return Path(hat.__file__).resolve().parent.parent
