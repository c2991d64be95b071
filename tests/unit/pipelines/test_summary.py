"""What the end of a run says on a terminal, and the command that goes on with it."""

import io

import pytest
from rich.console import Console

from hat.promotion.ledger import StaleBaseline
from hat.runs.record import RunError, RunRecord
from pipelines.cli.summary import print_record

RUN = "20261201-000000-live-shop-1.1.0-aaaa"
RECORD = RunRecord(
    run=RUN,
    harness="live-shop",
    version="1.1.0",
    code_version="c",
    profile="tiny",
    mode="auto",
    overrides={"sft.control": "fixed", "seed": 3},
    started="2026-12-01T00:00:00+00:00",
)


def said_of(record: RunRecord) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_record(record, console)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("error", "command"),
    [
        (
            RunError(step="sft", message="killed", exit_status=4),
            f"go on with: hat run live-shop@1.1.0 --resume {RUN}",
        ),
        (
            RunError(step="resolve", message="a wrong setting", exit_status=2),
            f"start a new run. Anything else mended: hat run live-shop@1.1.0 --resume {RUN}",
        ),
        (
            RunError(step="promote", message="STALE_BASELINE", exit_status=StaleBaseline.exit_status),
            "go on with: hat run live-shop@1.1.0 --profile tiny --set 'sft.control=\"fixed\"' --set seed=3",
        ),
    ],
)
def test_a_failed_run_says_how_to_go_on(error: RunError, command: str) -> None:
    said = said_of(RECORD.model_copy(update={"status": "failed", "error": error}))
    assert f"failed in {error.step}: {error.message}" in said
    assert said.splitlines()[-1].endswith(command)


def test_a_verdict_says_whether_a_model_was_trained_and_what_went_into_production() -> None:
    screened = RECORD.model_copy(update={"status": "succeeded", "verdict": "PASS", "promoted": True})
    said = said_of(screened)
    assert "PASS: live-shop@1.1.0 with the model in production, nothing trained" in said
    assert "promoted: the pair is in production" in said
    trained = screened.model_copy(update={"verdict": "FAIL", "promoted": False, "trained": True})
    assert "FAIL: live-shop@1.1.0 with a model trained for it" in said_of(trained)
    assert "promoted" not in said_of(trained)
