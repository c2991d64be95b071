"""The few numbers of a run that the Kubeflow UI lists and compares between runs."""

from hat.reporting.documents import RunDocuments
from hat.reporting.measurements import read_latency
from hat.reporting.values import mapping, number

_WORDS = {"FAIL": 0.0, "INCONCLUSIVE": 0.5, "PASS": 1.0}


def headline_metrics(found: RunDocuments) -> dict[str, float]:
    """Metric -> value of the pair that the run judged; what was not measured is left out.

    ``verdict`` is 1 for PASS, 0.5 for INCONCLUSIVE and 0 for FAIL; accuracies are shares, latencies seconds.
    """
    metrics: dict[str, float] = {}
    word = found.verdict.get("verdict")
    if word in _WORDS:
        metrics["verdict"] = _WORDS[str(word)]
    judged = "candidate" if "candidate" in found.evaluations else "production"
    for suite, scores in mapping(mapping(found.evaluations.get(judged)).get("suites")).items():
        if (accuracy := number(mapping(scores).get("accuracy"))) is not None:
            metrics[f"{suite}_accuracy"] = accuracy
    latency = read_latency(found.latency, found.verdict)
    for each in latency.percentiles if latency is not None else ():
        if each.estimate is not None:
            metrics[f"latency_{each.name.lower()}_seconds"] = each.estimate
    return metrics
