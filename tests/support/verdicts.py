"""What tests of verdicts say of one: its codes, its messages, its findings, and the items of a maker's documents."""

from typing import Any

CANDIDATE, PRODUCTION = "evaluation/candidate.json", "evaluation/production.json"
SUITE = "live_stream_qa"


def items(documents: dict[str, Any], role: str = CANDIDATE) -> list[dict[str, Any]]:
    """The suite's items of one model."""
    found: list[dict[str, Any]] = documents[role]["suites"][SUITE]["items"]
    return found


def codes(verdict: Any) -> set[str]:
    """The codes of all findings."""
    return {reason.code.value for reason in verdict.reasons}


def message_of(verdict: Any, code: str) -> str:
    """The message of the first finding with that code."""
    return str(next(reason.message for reason in verdict.reasons if reason.code == code))


def one(verdict: Any, metric: str) -> Any:
    """The only finding about a metric."""
    (reason,) = (reason for reason in verdict.reasons if reason.metric == metric)
    return reason


def absolute(**changes: Any) -> dict[str, Any]:
    """An absolute criterion, some of its fields changed."""
    return {"suite": SUITE, "metric": "accuracy", "at_least": 70, "minimum_n": 60} | changes
