"""Runs a step once: results are kept under a key of everything they depend on, and reused from there.

One mechanism serves both needs. A resumed run finds what it finished before; a new run finds what any
run made from the same inputs, settings and code. Kubeflow's own cache cannot do either here: its key
holds artifact *addresses*, which differ in every run (docs/decisions/kfp-step-journal.md).
"""

import contextvars
import errno
import importlib
import json
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from hat.errors import EnvironmentFailure, HatError
from hat.files import canonical_json, sha256_text
from hat.runs import places, progress, watch
from hat.steps.contract import StepContract, contract
from hat.steps.entries import StepEntry, StepStatus, write_entry
from hat.steps.keys import content_digest, step_key
from hat.storage import NotFound, Store

FINISHED_EARLIER = "finished in an earlier attempt"
MANIFEST = "manifest.json"
ERROR_MARK = "hat-error "
"""Starts the line that tells the runner why a step failed; the rest of the line is JSON."""

_current_key: contextvars.ContextVar[str | None] = contextvars.ContextVar("step_key", default=None)


def current_key() -> str | None:
    """The key of the step that is running, for naming its checkpoints; None outside of a step."""
    return _current_key.get()


def run_step(
    module: str,
    *,
    inputs: Mapping[str, str] | None = None,
    outputs: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Any:
    """Call ``run(**parameters, **inputs, **outputs)`` of a module unless its result is already there.

    Args:
        module: e.g. ``hat.steps.sft``; its last part is the step's name. Imported only if it has to run.
        inputs: argument name -> path that the step reads.
        outputs: argument name -> path that the step writes; a name ending in ``_dir`` or holding ``_dir_``
            is a folder. Emptied first: a retry of Kubeflow hands the same paths again.
        parameters: argument name -> plain value.

    Returns:
        What the step returned (a JSON value).

    Raises:
        SystemExit: the step failed; the reason is in the log and in the journal.
    """
    name = module.rpartition(".")[2]
    step = contract(name)
    watch.die_with_runner()
    progress.write(progress.Event(time.time(), name, "started"))
    try:
        return _run(step, module, dict(inputs or {}), dict(outputs or {}), dict(parameters or {}))
    except Exception as error:
        raise SystemExit(_failed(step, error)) from error


def remember(
    store: Store, kind: str, parts: Mapping[str, Any], folder: Path, work: Callable[[Path], None]
) -> bool:
    """Fill ``folder`` with ``work(folder)``, or with what the same ``parts`` gave before.

    ``parts`` must name all that the result depends on, the code version included.

    Returns:
        True when the result was there.
    """
    key = sha256_text(canonical_json({"kind": kind, **parts}))
    place, outputs = f"cache/{kind}/{key}", {"output_dir": str(folder)}
    if _restore(store, place, outputs) is not None:
        return True
    _empty(folder, is_folder=True)
    started = time.monotonic()
    work(folder)
    seconds = round(time.monotonic() - started, 3)
    _keep(
        store,
        place,
        outputs,
        {"run": places.run_id(), "step": kind, "key": key, "value": None, "seconds": seconds},
    )
    return False


def _run(
    step: StepContract,
    module: str,
    inputs: dict[str, str],
    outputs: dict[str, str],
    parameters: dict[str, Any],
) -> Any:
    run = places.run_id()
    if not run:
        mend = "`hat run` sets it; on a cluster it is the run's label."
        raise EnvironmentFailure("HAT_RUN_ID is not set", where=f"step {step.name}", mend=mend)
    store = places.open_run_store()
    key = step_key(step, inputs, parameters)
    place = f"cache/{step.name}/{key}" if step.reusable else f"runs/{run}/outputs/{step.name}/{key}"
    found = _restore(store, place, outputs) if step.kept else None
    if found is not None:
        mine = found["run"] == run
        reason = FINISHED_EARLIER if mine else f"made by {found['run']}"
        seconds, value = found["seconds"], found["value"]
        status: StepStatus = "skipped" if mine else "cached"
        _finish(store, run, StepEntry(step.name, key, status, seconds, place, value, reason))
        return value
    started = time.monotonic()
    value = _work(step, module, key, {**parameters, **inputs}, outputs)
    seconds = round(time.monotonic() - started, 3)
    _keep(
        store, place, outputs, {"run": run, "step": step.name, "key": key, "value": value, "seconds": seconds}
    )
    _finish(store, run, StepEntry(step.name, key, "ran", seconds, place, value))
    return value


def _work(
    step: StepContract, module: str, key: str, arguments: dict[str, Any], outputs: dict[str, str]
) -> Any:
    for name, path in outputs.items():
        _empty(Path(path), is_folder=_is_folder(name))
    function = importlib.import_module(module).run
    token = _current_key.set(key)
    try:
        value = _plain(function(**arguments, **outputs))
    finally:
        _current_key.reset(token)
    missing = [name for name, path in outputs.items() if not Path(path).exists()]
    if missing:
        raise RuntimeError(f"step {step.name} wrote nothing for {', '.join(missing)}")
    return value


def _plain(value: Any) -> Any:
    """A named tuple or a dataclass as a JSON object; other values as they are."""
    if hasattr(value, "_asdict"):
        return value._asdict()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _is_folder(name: str) -> bool:
    return name.endswith("_dir") or "_dir_" in name


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _empty(path: Path, *, is_folder: bool) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    (path if is_folder else path.parent).mkdir(parents=True, exist_ok=True)


def _keep(store: Store, place: str, outputs: dict[str, str], manifest: dict[str, Any]) -> None:
    """Store the outputs, then the manifest: without it, a result does not exist."""
    if store.exists(f"{place}/{MANIFEST}"):  # another run finished the same work first
        return
    for name, path in outputs.items():
        if _is_empty_folder(Path(path)):  # a tree has files; the digest says that there are none
            continue
        if Path(path).is_dir():
            store.delete_tree(f"{place}/{name}")  # left by a run that died before its manifest
            store.put_tree(Path(path), f"{place}/{name}")
        else:
            store.put_file(Path(path), f"{place}/{name}")
    digests = {name: content_digest(Path(path)) for name, path in outputs.items()}
    _put_json(store, f"{place}/{MANIFEST}", {"schema_version": 1, **manifest, "outputs": digests})


def _restore(store: Store, place: str, outputs: dict[str, str]) -> dict[str, Any] | None:
    """Bring back kept outputs and return their manifest; None when there are none or they are damaged."""
    if not store.exists(f"{place}/{MANIFEST}"):
        return None
    manifest: dict[str, Any] = json.loads(store.get(f"{place}/{MANIFEST}"))
    try:
        for name, path in outputs.items():
            _empty(Path(path), is_folder=_is_folder(name))
            if _is_empty_folder(Path(path)) and manifest["outputs"].get(name) == content_digest(Path(path)):
                continue
            if _is_folder(name):
                store.get_tree(f"{place}/{name}", Path(path))
            else:
                store.get_file(f"{place}/{name}", Path(path))
        digests = {name: content_digest(Path(path)) for name, path in outputs.items()}
    except (NotFound, EnvironmentFailure) as error:
        sys.stderr.write(f"kept results cannot be used: {error}\n")
        digests = {}
    if digests != manifest["outputs"]:
        sys.stderr.write(f"kept results of {manifest['step']} are damaged: the step runs again\n")
        store.delete(f"{place}/{MANIFEST}")
        return None
    return manifest


def _finish(store: Store, run: str, entry: StepEntry) -> None:
    write_entry(store, run, entry)
    value = entry.value.get("verdict", "") if isinstance(entry.value, dict) else str(entry.value or "")
    progress.write(progress.Event(time.time(), entry.name, entry.status, note=entry.reason, value=value))


def _failed(step: StepContract, error: Exception) -> int:
    """Tell the runner, the journal and the log why the step failed; the exit status for this process."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        error = EnvironmentFailure(
            "the disk is full", where=f"step {step.name}", mend="Free space and resume the run."
        )
    if isinstance(error, HatError):
        message, exit_status = str(error), error.exit_status
    else:
        traceback.print_exception(error)
        message, exit_status = f"step {step.name}: {type(error).__name__}: {error}", 4
    told = {"step": step.name, "message": message, "exit_status": exit_status}
    sys.stderr.write(f"\n{ERROR_MARK}{json.dumps(told)}\n")
    sys.stderr.flush()
    progress.write(progress.Event(time.time(), step.name, "failed", note=message, exit_status=exit_status))
    try:
        store = places.open_run_store()
        write_entry(
            store,
            places.run_id(),
            StepEntry(step.name, "", "failed", reason=message, exit_status=exit_status),
        )
    except Exception as unwritten:  # noqa: BLE001  the store itself may be what failed
        sys.stderr.write(f"the failure could not be recorded: {unwritten}\n")
    return exit_status


def _put_json(store: Store, key: str, value: Any) -> None:
    store.put(key, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
