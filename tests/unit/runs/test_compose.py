"""A run's record is made from what its steps left, however far they came."""

import json
from pathlib import Path
from typing import Any

import pytest

from hat.runs.compose import compose_record
from hat.runs.record import RunError, RunRecord, list_records, read_record, write_record
from hat.steps.entries import StepEntry, write_entry
from hat.storage import Store, open_store

BEGUN = RunRecord(
    run="r1",
    harness="h",
    version="1.0.0",
    code_version="c",
    profile="tiny",
    mode="auto",
    started="2026-01-01",
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"))


def leave(store: Store, step: str, status: Any = "ran", value: Any = None, **documents: Any) -> None:
    place = f"runs/r1/outputs/{step}"
    for name, document in documents.items():
        store.put(f"{place}/{name}", json.dumps(document).encode())
    reason = "it broke" if status == "failed" else ""
    exit_status = 2 if status == "failed" else 0
    write_entry(store, "r1", StepEntry(step, "k", status, 1.5, place, value, reason, exit_status))


def test_a_run_that_passed_the_gate_after_training(store: Store) -> None:
    leave(
        store, "resolve", subject_out={"harness_digest": "hh", "base": {"digest": "bb"}, "production": None}
    )
    leave(store, "screen", value="train", verdict_out=None)
    leave(store, "sft", model_out={"digest": "s"})
    leave(store, "rl", model_out={"digest": "r"})
    leave(store, "decide", value="PASS", verdict_out={"verdict": "PASS"})
    leave(store, "promote", promotion_out={"sequence": 1})
    record = compose_record(store, BEGUN)
    assert (record.status, record.verdict, record.trained, record.promoted) == (
        "succeeded",
        "PASS",
        True,
        True,
    )
    assert record.exit_status == 0
    assert (record.models.base, record.models.production, record.models.candidate) == ("bb", None, "r")
    assert next(step.seconds for step in record.steps if step.name == "sft") == 1.5


@pytest.mark.parametrize(("verdict", "exit_status"), [("PASS", 0), ("FAIL", 1), ("INCONCLUSIVE", 3)])
def test_a_verdict_of_the_screen_is_the_runs_when_nothing_was_trained(
    store: Store, verdict: str, exit_status: int
) -> None:
    leave(store, "screen", value="stop", verdict_out={"verdict": verdict})
    record = compose_record(store, BEGUN)
    assert (record.verdict, record.trained, record.exit_status) == (verdict, False, exit_status)


def test_a_failed_screen_does_not_speak_for_the_model_that_is_trained_after_it(store: Store) -> None:
    leave(store, "screen", value="train", verdict_out={"verdict": "FAIL"})
    leave(store, "sft", model_out={"digest": "s"})
    assert compose_record(store, BEGUN).verdict is None


def test_a_pair_that_passed_and_may_not_replace_a_newer_one_is_a_success_that_says_why(store: Store) -> None:
    leave(store, "decide", value="PASS", verdict_out={"verdict": "PASS"})
    leave(store, "promote", promotion_out={"promoted": False, "reason": "a newer one is there"})
    record = compose_record(store, BEGUN)
    assert (record.exit_status, record.promoted, record.not_promoted) == (0, False, "a newer one is there")


def test_a_failed_step_gives_the_run_its_reason_and_exit_status(store: Store) -> None:
    leave(store, "resolve", subject_out={"base": {"digest": "bb"}})
    leave(store, "screen", status="failed")
    record = compose_record(store, BEGUN)
    assert record.status == "failed"
    assert record.error == RunError(step="screen", message="it broke", exit_status=2)
    assert record.exit_status == 2
    assert {step.reason for step in record.steps if step.status == "skipped"} == {"not reached"}


def test_a_step_that_was_killed_is_named_although_it_left_nothing(store: Store) -> None:
    record = compose_record(store, BEGUN, RunError(step="sft", message="killed", exit_status=4))
    assert next(step.status for step in record.steps if step.name == "sft") == "failed"
    assert record.exit_status == 4


def test_records_are_listed_newest_first_and_read_back_as_written(store: Store) -> None:
    for run in ("20260101-000000-h-1.0.0-aaaa", "20260102-000000-h-1.0.0-aaaa"):
        write_record(store, BEGUN.model_copy(update={"run": run, "overrides": {"sft.control": "fixed"}}))
    listed, unreadable = list_records(store)
    assert unreadable == []
    assert [record.run[:8] for record in listed] == ["20260102", "20260101"]
    assert read_record(store, listed[0].run) == listed[0]


def test_a_run_whose_process_is_gone_is_seen_as_interrupted() -> None:
    gone = BEGUN.model_copy(update={"runner_pid": 2**22 + 1})
    assert gone.as_seen_now().status == "interrupted"
    assert BEGUN.as_seen_now().status == "running"
