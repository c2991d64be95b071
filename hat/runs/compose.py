"""Makes a run's record from what its steps left in the store."""

import json
from typing import Any

from hat.runs.record import ModelDigests, RunError, RunRecord, StepRecord
from hat.steps.contract import STEPS
from hat.steps.entries import StepEntry, read_entry
from hat.storage import Store

REPORTED_STEPS = tuple(step.name for step in STEPS if step.name != "finalize")


def read_entries(store: Store, run: str) -> dict[str, StepEntry]:
    """The steps of a run that came to an end."""
    found = {name: read_entry(store, run, name) for name in REPORTED_STEPS}
    return {name: entry for name, entry in found.items() if entry is not None}


def read_output(store: Store, entry: StepEntry | None, output: str) -> Any:
    """A JSON document that a step wrote, or None when the step has none."""
    if entry is None or not entry.place or not store.exists(f"{entry.place}/{output}"):
        return None
    return json.loads(store.get(f"{entry.place}/{output}"))


def compose_record(store: Store, begun: RunRecord, error: RunError | None = None) -> RunRecord:
    """The record of a run as far as it came.

    Args:
        begun: the record as written when the run (or its attempt) began.
        error: why the run failed, where the steps could not say it themselves.
    """
    entries = read_entries(store, begun.run)
    failed = next((entry for entry in entries.values() if entry.status == "failed"), None)
    if failed is not None:
        error = RunError(step=failed.name, message=failed.reason, exit_status=failed.exit_status)
    subject = read_output(store, entries.get("resolve"), "subject_out") or {}
    judged = read_output(store, entries.get("decide"), "verdict_out")
    screened = entries.get("screen")
    if judged is None and screened is not None and screened.value != "train":
        judged = read_output(store, screened, "verdict_out")
    promotion = read_output(store, entries.get("promote"), "promotion_out")
    refused = promotion is not None and promotion.get("promoted") is False
    trained = "sft" in entries and entries["sft"].status != "failed"
    return begun.model_copy(
        update={
            "version": subject.get("version", begun.version),  # begun may say `latest`
            "harness_digest": subject.get("harness_digest", begun.harness_digest),
            "status": "failed" if error else "succeeded",
            "verdict": judged["verdict"] if judged else None,
            "trained": trained,
            "promoted": promotion is not None and not refused,
            "not_promoted": promotion["reason"] if refused else "",
            "steps": _steps(entries, error),
            "models": ModelDigests(
                base=_digest(subject.get("base")),
                production=_digest(subject.get("production")),
                candidate=_digest(_candidate(store, entries)),
            ),
            "error": error,
        }
    )


def _steps(entries: dict[str, StepEntry], error: RunError | None) -> tuple[StepRecord, ...]:
    absent = "not reached" if error else "not needed"
    records = []
    for name in REPORTED_STEPS:
        entry = entries.get(name)
        if entry is not None:
            records.append(
                StepRecord(name=name, status=entry.status, seconds=entry.seconds, reason=entry.reason)
            )
        elif error is not None and error.step == name:
            records.append(StepRecord(name=name, status="failed", reason=error.message))
        else:
            records.append(StepRecord(name=name, status="skipped", reason=absent))
    return tuple(records)


def _candidate(store: Store, entries: dict[str, StepEntry]) -> Any:
    """The newest model of the run: each training stage replaces the one before."""
    for step in ("rl", "opd", "sft"):
        if (model := read_output(store, entries.get(step), "model_out")) is not None:
            return model
    return None


def _digest(model: Any) -> str | None:
    return model["digest"] if model else None
