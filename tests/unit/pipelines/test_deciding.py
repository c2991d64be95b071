"""The loser of a race is decided again: as a new run, a few times, and only for that reason."""

import io

import pytest
from rich.console import Console

from hat.runs.record import RunError, RunRecord
from pipelines.deciding import DECISIONS, until_decided

LOST = RunError(step="promote", message="STALE_BASELINE: ...", exit_status=3)


def record(number, error=None):
    return RunRecord(
        run=f"run {number}",
        harness="live-shop",
        version="1.0.0",
        code_version="c",
        profile="tiny",
        mode="auto",
        started="2026-01-01T00:00:00+00:00",
        verdict="PASS",
        error=error,
    )


def decide(*records):
    waiting = list(records)
    said = io.StringIO()
    last = until_decided(lambda: waiting.pop(0), Console(file=said))
    return last, len(records) - len(waiting), said.getvalue()


def test_a_lost_race_is_decided_again_and_said():
    last, runs, said = decide(record(1, LOST), record(2), record(3))
    assert (last.run, runs) == ("run 2", 2)
    assert "STALE_BASELINE" in said
    assert last.exit_status == 0


def test_it_is_given_up_after_some_losses():
    last, runs, _ = decide(*(record(number, LOST) for number in range(DECISIONS + 1)))
    assert runs == DECISIONS
    assert last.exit_status == 3


@pytest.mark.parametrize(
    "error",
    [
        None,
        RunError(step="promote", message="the store failed", exit_status=4),
        RunError(step="evaluate", message="INCONCLUSIVE", exit_status=3),
    ],
)
def test_nothing_else_is_decided_again(error):
    assert decide(record(1, error), record(2))[1] == 1
