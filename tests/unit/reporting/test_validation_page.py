"""The page of step `validate`."""

from hat.reporting.validation import render_validation
from hat.trajectories.validate import ExpectationOutcome, ValidationReport


def outcome(name, met, **changes):
    values = {"meaning": "no row", "unexpected": 0, "observed": "", "examples": ()} | changes
    return ExpectationOutcome(name=name, met=met, **values)


def test_failed_expectations_come_first_with_their_examples():
    failed = outcome("no leakage", False, unexpected=2, examples=("line 3 (a): <b>dev</b>",))
    report = ValidationReport(7, (outcome("row count", True), failed), "Great Expectations 1.24.1")
    html = render_validation(report, title="Training data of live-shop@1.0.0")
    assert "Not fit to train on" in html
    assert "line 3 (a): &lt;b&gt;dev&lt;/b&gt;" in html
    assert html.index("no leakage") < html.index("row count")
    assert "http" not in html.replace("http-equiv", "")


def test_a_suite_that_is_met_says_so():
    report = ValidationReport(7, (outcome("row count", True),), "Great Expectations 1.24.1")
    html = render_validation(report, title="Training data")
    assert "Fit to train on" in html
    assert "1 of 1 expectations met" in html
