"""Runs units one after the other; what is done is skipped, and what failed stops only what needs it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from hat.errors import BadInput, HatError
from hat.files import sha256_text, write_json_atomic
from hat.home import hat_home
from hat.models import ModelRef
from hat.reproduce import process
from hat.reproduce.attempts import Attempt
from hat.reproduce.measurements import Measurement
from hat.reproduce.request import CONFIG, REQUEST, Outcome, Request
from hat.reproduce.results import Header, Provenance, StepCost, read_result, result_path, write_result
from hat.reproduce.status import Status, status_of
from hat.reproduce.units import Plan, Unit, config_of, evaluation_of, recipe_digest
from hat.runs.places import open_run_store, run_folder
from hat.runs.progress import Event
from hat.storage.lock import file_lock_if_free


@dataclass(frozen=True)
class Code:
    """The code that runs, and how it was called."""

    version: str
    commit: str
    dirty: bool
    command: str


class View(Protocol):
    """Who is told how it goes."""

    def starts(self, unit: Unit, left: Sequence[Unit]) -> None:
        """A unit begins; ``left`` are those after it."""

    def goes_on(self, unit: Unit, event: Event | None) -> None:
        """Something happened in it, or None: time went by."""

    def ends(self, unit: Unit, word: str, note: str) -> None:
        """It ended: done, skipped or failed."""


def run_units(
    units: Sequence[Unit], plan: Plan, registry: Path, out: Path, code: Code, view: View
) -> list[HatError]:
    """Run what is not there yet.

    Args:
        registry: the folder of harnesses.
        out: where result files are and go.

    Returns:
        The failures; a unit that could not be run since another failed, or is unavailable, is none.
    """
    failures: list[HatError] = []
    for position, unit in enumerate(units):
        try:
            with file_lock_if_free(lock_of(out, unit)) as alone:
                if not alone:
                    view.ends(unit, "skipped", "another process runs it")
                    continue
                status = status_of(plan, unit, out)
                if status.state != "ready":
                    if status.state == "waits" and not set(unit.needs) <= {each.id for each in units}:
                        raise _needs_first(unit, status)
                    view.ends(unit, "skipped", _why_skipped(status))
                    continue
                view.starts(unit, units[position + 1 :])
                _run(unit, plan, registry, out, code, view)
                view.ends(unit, "done", str(result_path(out, unit.id)))
        except HatError as error:
            failures.append(error)
            view.ends(unit, "failed", str(error))
    return failures


def _why_skipped(status: Status) -> str:
    if status.state == "done":
        return "its file is there"
    if status.state == "other settings":
        return f"{status.reason}: delete it to run the unit with these"
    return f"waits {status.reason}" if status.state == "waits" else status.reason


def _run(unit: Unit, plan: Plan, registry: Path, out: Path, code: Code, view: View) -> None:
    models = [_model(unit, maker, out) for maker in unit.needs]
    start = models[0] if models else None
    config = config_of(plan, unit, code.version, models[1].digest if len(models) > 1 else "")
    name = f"reproduce-{plan.suite.name}-{unit.id}-{_tag(plan, unit)}"
    folder = run_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    config.write(folder / CONFIG)
    request = Request(
        unit=unit.id,
        step=unit.stage.step if unit.stage else "evaluate",
        harness=plan.harness,
        version=plan.version,
        registry=registry.resolve(),
        start=start.model_dump() if start else None,
        **(_asked(plan, unit.measurement) if unit.measurement else {}),
    )
    write_json_atomic(folder / REQUEST, request.model_dump(mode="json"))
    outcome, attempts = process.work(folder, name, code.version, lambda event: view.goes_on(unit, event))
    stage_settings = config.model_dump(mode="json").get(request.step, {})
    header = Header(
        unit=unit.id,
        kind="evaluate" if unit.measurement else "train",
        suite=plan.suite.name,
        name=unit.name,
        seed=unit.seed,
        measurement=unit.measurement.name if unit.measurement else "",
        split=plan.split,
        harness=f"{plan.harness}@{plan.version}",
        recipe_digest=recipe_digest(plan, unit),
        base_digest=outcome.base_digest,
        start_digest=outcome.start_digest,
        model=outcome.model,
        settings=request.evaluate or stage_settings,
        provenance=_provenance(outcome, attempts, code),
    )
    write_result(out, header, outcome.rows)
    shutil.rmtree(folder, ignore_errors=True)


def _tag(plan: Plan, unit: Unit) -> str:
    """Tells apart working folders of the same unit under other settings."""
    return sha256_text(f"{recipe_digest(plan, unit)}/{plan.split}")[:8]


def _model(unit: Unit, maker: str, out: Path) -> ModelRef:
    """The model that a training unit made.

    Raises:
        BadInput: it is in another store.
    """
    path = result_path(out, maker)
    reference = ModelRef.model_validate(read_result(path).header.model)
    store = open_run_store()
    if store.tree(reference.prefix) is None:
        raise BadInput(
            f"the model {reference.digest[:12]} that {maker} made is not in this store",
            where=f"{unit.id}, {store.url}",
            mend=f"Set HAT_STORE to the store that has it, or delete {path} and run "
            f"`hat reproduce --only {maker}` here.",
        )
    return reference


def _needs_first(unit: Unit, status: Status) -> BadInput:
    mend = (
        f"Run `hat reproduce --only {unit.needs[0]}` first, here or on a machine with the same store; "
        "a file made with other settings must be deleted before."
    )
    return BadInput(f"its model is not there: it waits {status.reason}", where=unit.id, mend=mend)


def _asked(plan: Plan, measurement: Measurement) -> dict[str, Any]:
    """What a request says of a measurement."""
    return {
        "evaluate": evaluation_of(plan, measurement).model_dump(mode="json"),
        "full_suites": (measurement.full_suite,) if measurement.full_suite else (),
        "items": measurement.count,
        "divergence": measurement.divergence,
        "versions": dict(plan.chain) if measurement.needs_chain else {},
    }


def _provenance(outcome: Outcome, attempts: Sequence[Attempt], code: Code) -> Provenance:
    return Provenance(
        commit=code.commit,
        dirty=code.dirty,
        code_version=code.version,
        command=code.command,
        hardware=outcome.hardware,
        platform=outcome.platform,
        started=attempts[0].started,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        attempts=len(attempts),
        wall_seconds=round(sum(each.wall_seconds for each in attempts), 1),
        cpu_seconds=round(sum(each.cpu_seconds for each in attempts), 1),
        peak_memory_bytes=max(each.peak_memory_bytes for each in attempts),
        steps=tuple(StepCost.model_validate(each) for each in outcome.steps),
    )


def lock_of(out: Path, unit: Unit) -> Path:
    """Held by the one process that works on the unit."""
    return hat_home() / "locks" / f"reproduce-{sha256_text(str(out.resolve()))[:8]}-{unit.id}"
