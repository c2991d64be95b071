"""The numbers for the Kubeflow UI: of the pair that was judged, and nothing that was not measured."""

from hat.reporting import headline_metrics
from hat.reporting.documents import RunDocuments


def suites(accuracy: float) -> dict[str, object]:
    return {"suites": {"live_stream_qa": {"n": 2, "accuracy": accuracy}}}


def latency() -> dict[str, object]:
    times = {"scheduled": 0, "started": 0, "first_token": 1, "finished": 2}
    requests = [{"id": str(number), "status": "ok", **times} for number in range(4)]
    return {"schema_version": 1, "warmup": [], "requests": requests}


def test_a_trained_run_shows_its_candidate() -> None:
    found = RunDocuments(
        verdict={"verdict": "PASS"},
        evaluations={"base": suites(0.1), "production": suites(0.5), "candidate": suites(0.75)},
        latency=latency(),
    )
    metrics = headline_metrics(found)
    assert metrics["verdict"] == 1.0
    assert metrics["live_stream_qa_accuracy"] == 0.75
    assert metrics["latency_p50_seconds"] == 2.0


def test_a_screened_run_shows_what_is_in_production() -> None:
    found = RunDocuments(verdict={"verdict": "FAIL"}, evaluations={"production": suites(0.5)})
    assert headline_metrics(found) == {"verdict": 0.0, "live_stream_qa_accuracy": 0.5}


def test_a_run_that_failed_early_shows_nothing() -> None:
    assert headline_metrics(RunDocuments()) == {}
