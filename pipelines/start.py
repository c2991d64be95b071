"""Starts, resumes and finishes a run on this machine: what `hat run` does."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from hat.errors import BadInput
from hat.files import as_environment_failure, write_bytes_atomic
from hat.harness.registry import Registry, parse_reference
from hat.promotion.ledger import production
from hat.runs.compose import compose_record
from hat.runs.harness_archive import publish_harness
from hat.runs.places import new_run_id, open_run_store, run_folder
from hat.runs.progress import Reader
from hat.runs.record import RunError, RunRecord, read_record, write_record
from hat.steps.contract import STEPS
from hat.steps.resolve import read_settings
from hat.storage import Store
from pipelines import local
from pipelines.board import Board, Plan
from pipelines.compile import IMAGE_FAMILIES, compile_profile
from pipelines.containers import check_built, local_images
from pipelines.live import make_view
from pipelines.profile import Profile, load_profile, profile_path
from pipelines.version import code_version

LOCAL_IMAGE = "hat-python-local"
"""Stands in for the image parameters: kfp's subprocess runner starts no container."""


@dataclass(frozen=True)
class RunRequest:
    """What a user asks of a new run."""

    harness: str
    version: str | None
    profile: str
    mode: str
    overrides: dict[str, Any]


def start_run(
    request: RunRequest, registry: Registry, console: Console, runner: local.Runner = "subprocess"
) -> RunRecord:
    """Run a harness version through the pipeline and return the run's record.

    Raises:
        BadInput: anything that can be known to be wrong before the first step.
        EnvironmentFailure: the container runtime or an image is missing.
    """
    profile = load_profile(request.profile)
    read_settings(profile.settings_json(), json.dumps(request.overrides), code_version())
    images = _images(runner)
    store = open_run_store()
    harness = publish_harness(store, registry, request.harness, request.version)
    record = RunRecord(
        run=new_run_id(harness.name, harness.version),
        harness=harness.name,
        version=harness.version,
        harness_digest=harness.digest,
        code_version=code_version(),
        profile=profile.name,
        mode=request.mode,
        overrides=request.overrides,
        started=_now(),
        runner_pid=os.getpid(),
    )
    # A resumed run keeps its settings, whatever becomes of the file.
    write_bytes_atomic(_profile_copy(record), profile_path(request.profile).read_bytes())
    return _drive(store, record, console, runner, images)


def resume_run(run: str, reference: str, console: Console, runner: local.Runner = "subprocess") -> RunRecord:
    """Go on with a run that failed or was cut off; its finished steps are not run again.

    Raises:
        BadInput: no such run, a run of another harness, one that is still going on, or one that is finished.
    """
    store = open_run_store()
    record = read_record(store, run)
    name, version = parse_reference(reference)
    if name != record.harness or version not in (None, record.version):
        raise BadInput(
            f"{run} is a run of {record.harness}@{record.version}, not of {reference}", where="--resume"
        )
    if record.status == "succeeded":
        console.print(f"{run} is finished: nothing to resume", markup=False, highlight=False)
        return record
    if record.lost_race:
        raise BadInput(
            "another pair went into production since this run compared its own with what was there",
            where=run,
            mend=f"Start anew: `hat run {reference}` decides against it, and reuses what was trained.",
        )
    if record.code_version != code_version():
        console.print("The code changed since this run began: steps it affects run again.", highlight=False)
    images = _images(runner)
    again = {
        "status": "running",
        "error": None,
        "finished": None,
        "attempts": record.attempts + 1,
        "runner_pid": os.getpid(),
        "code_version": code_version(),
    }
    return _drive(store, record.model_copy(update=again), console, runner, images)


def _drive(
    store: Store, record: RunRecord, console: Console, runner: local.Runner, images: Mapping[str, str]
) -> RunRecord:
    images = (
        local_images(record.code_version)
        if runner == "docker"
        else dict.fromkeys(IMAGE_FAMILIES, LOCAL_IMAGE)
    )
    if runner == "docker":
        check_built(images)
    folder = run_folder(record.run)
    with _only_runner(folder, record.run):
        for step in STEPS:  # of an earlier attempt; the results themselves stay
            store.delete(f"runs/{record.run}/steps/{step.name}.json")
        write_record(store, record)
        console.print(f"Run {record.run}", markup=False, highlight=False)
        copy = _profile_copy(record)
        profile = str(copy) if copy.is_file() else record.profile
        package = compile_profile(profile, folder).package
        events = Reader(folder)
        events.skip_to_end()
        board = _board(load_profile(profile), store, record)
        try:
            running = local.start(package, _arguments(record, images), record.run, runner)
            with make_view(console) as view:
                error = running.wait(lambda: view.show(board, events.events()))
        except KeyboardInterrupt:
            cut = compose_record(store, record).model_copy(update={"status": "interrupted"})
            write_record(store, cut)
            raise
        return _finished(store, record, board, error, running.log)


def _board(profile: Profile, store: Store, record: RunRecord) -> Board:
    """The board of a run: without a pair in production there is nothing to screen."""
    settings = read_settings(profile.settings_json(), json.dumps(record.overrides), record.code_version)
    plan: Plan = "auto"
    if record.mode == "train" or production(store, settings.environment, record.harness) is None:
        plan = "train"
    elif record.mode == "screen":
        plan = "screen"
    return Board.of(profile.expected_seconds, plan=plan)


def _finished(store: Store, record: RunRecord, board: Board, error: RunError | None, log: Path) -> RunRecord:
    """The record that `finalize` wrote, or one made here when it did not get to run."""
    if error is not None and not error.step and board.running is not None:
        step = board.running.name
        message = f"step {step} was killed, perhaps for want of memory; its log is {log}"
        error = error.model_copy(update={"step": step, "message": message})
    written = read_record(store, record.run)
    if written.finished is not None and (error is None) == (written.error is None):
        return written
    final = compose_record(store, record, error).model_copy(update={"finished": _now()})
    write_record(store, final)
    return final


def _profile_copy(record: RunRecord) -> Path:
    return run_folder(record.run) / f"{record.profile}.yaml"


def _images(runner: local.Runner) -> dict[str, str]:
    """Family -> image for the runner. Raises `EnvironmentFailure` when a container could not start."""
    if runner == "subprocess":
        return dict.fromkeys(IMAGE_FAMILIES, LOCAL_IMAGE)
    images = local_images(code_version())
    check_built(images)
    return images


def _arguments(record: RunRecord, images: Mapping[str, str]) -> dict[str, Any]:
    return {
        "harness": record.harness,
        "version": record.version,
        "harness_digest": record.harness_digest or "",
        "mode": record.mode,
        "overrides": json.dumps(record.overrides, ensure_ascii=False, sort_keys=True),
        "code_version": record.code_version,
        **{f"image_{family}": image for family, image in images.items()},
    }


@contextmanager
def _only_runner(folder: Path, run: str) -> Iterator[None]:
    """Hold the run's lock, which the kernel drops when this process dies. Raises `BadInput` if it is held."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(folder / "lock", "ab")  # noqa: SIM115  closed below; the try covers the opening only
    except OSError as error:
        raise as_environment_failure(error, folder) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadInput(
                f"{run} is still going on", where="--resume", mend="Wait for it, or end it."
            ) from error
        yield


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
