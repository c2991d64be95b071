"""Which of the two moved the score, model or harness: the old and the new of each, on the same tasks.

Four cells: old model under the old harness, old under new, new under old, new under new. The change from the pair in
production to the new pair is divided between model and harness by averaging over the order in which the two are
exchanged (Shapley), so that the two parts add up to the whole; the interaction is what neither explains alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hat.evaluation.statistics import Interval, paired_bootstrap
from hat.promotion.comparison import Measurements
from hat.promotion.documents import EvaluationDocument, HarnessName, Role
from hat.promotion.measures import measure
from hat.promotion.reasons import Reason, ReasonCode

SUITE = "live_stream_qa"
"""The suite whose tasks do not depend on the harness, so that the same ones can be asked under both."""
_CONFIDENCE = 0.975
"""Of each one-sided bound: together a 95% interval."""


@dataclass(frozen=True)
class Attribution:
    """The 2×2 on ``n`` tasks, in points; each effect is (estimate, low, high), a 95% clustered bootstrap interval."""

    n: int
    cells: Mapping[str, float]
    """`old_model_old_harness`, `old_model_new_harness`, `new_model_old_harness`, `new_model_new_harness`."""
    effects: Mapping[str, tuple[float, float, float]]
    """`total`, `model`, `harness`, `interaction`; only `total` and `harness` when the model is the same."""

    def to_json(self) -> dict[str, Any]:
        effects = {
            name: dict(zip(("estimate", "low", "high"), (round(value, 4) for value in effect), strict=True))
            for name, effect in self.effects.items()
        }
        cells = {name: round(value, 4) for name, value in self.cells.items()}
        return {"suite": SUITE, "n": self.n, "cells": cells, "effects": effects}


def attribute(
    measurements: Measurements, before: Mapping[Role, EvaluationDocument]
) -> tuple[Attribution | None, list[Reason]]:
    """The 2×2 from the evaluations under the new harness and those under the old one (``before``).

    It never decides. Without a measurement under the old harness there is nothing to say; with one that does not fit,
    the finding says what does not.
    """
    old_harness = measurements.subject.previous_harness
    if old_harness is None or not before or measurements.subject.models.production is None:
        return None, []
    cells = _cells(measurements, before, old_harness)
    if isinstance(cells, str):
        return None, [Reason(ReasonCode.REPORTED, "attribution", f"attribution: {cells}")]
    tasks = sorted(set.intersection(*(set(scores) for scores in cells.values())))
    if not tasks:
        message = "attribution: the old and the new harness were asked no task in common"
        return None, [Reason(ReasonCode.REPORTED, "attribution", message)]
    found = _attribution(cells, tasks)
    return found, [_reason(found)]


def _cells(
    measurements: Measurements, before: Mapping[Role, EvaluationDocument], old_harness: HarnessName
) -> dict[str, dict[str, float]] | str:
    """Cell -> task digest -> score, or why they cannot be had."""
    places: dict[str, tuple[Mapping[Role, EvaluationDocument], Role]] = {
        "old_model_old_harness": (before, "production"),
        "new_model_new_harness": (measurements.usable, "candidate"),
    }
    if not measurements.subject.screens_production:
        places["old_model_new_harness"] = (measurements.usable, "production")
        places["new_model_old_harness"] = (before, "candidate")
    cells = {}
    for cell, (documents, role) in places.items():
        document = documents.get(role)
        if document is None:
            return f"{cell} was not measured"
        if documents is before and document.harness_digest != old_harness.digest:
            return f"{cell} was measured under another harness ({document.harness_digest[:12]})"
        if document.model_digest != getattr(measurements.subject.models, role):
            return f"{cell} was measured on another model ({document.model_digest[:12]})"
        measured = measure(document, role, SUITE, "accuracy")
        if isinstance(measured, Reason):
            return f"{cell}: {measured.message}"
        cells[cell] = {
            item.task_digest: measured.scores[identity] for identity, item in measured.items.items()
        }
    return cells


def _attribution(cells: Mapping[str, Mapping[str, float]], tasks: Sequence[str]) -> Attribution:
    old_old = [cells["old_model_old_harness"][task] for task in tasks]
    new_new = [cells["new_model_new_harness"][task] for task in tasks]
    total = [new - old for new, old in zip(new_new, old_old, strict=True)]
    parts: dict[str, list[float]] = {"total": total}
    if "old_model_new_harness" in cells:
        old_new = [cells["old_model_new_harness"][task] for task in tasks]
        new_old = [cells["new_model_old_harness"][task] for task in tasks]
        quads = list(zip(old_old, old_new, new_old, new_new, strict=True))
        parts["model"] = [((nn - on) + (no - oo)) / 2 for oo, on, no, nn in quads]
        parts["harness"] = [((nn - no) + (on - oo)) / 2 for oo, on, no, nn in quads]
        parts["interaction"] = [nn - on - no + oo for oo, on, no, nn in quads]
    else:
        parts["harness"] = total
    return Attribution(
        n=len(tasks),
        cells={
            cell: 100 * sum(scores[task] for task in tasks) / len(tasks) for cell, scores in cells.items()
        },
        effects={name: _effect(values, tasks) for name, values in parts.items()},
    )


def _effect(values: Sequence[float], tasks: Sequence[str]) -> tuple[float, float, float]:
    interval: Interval = paired_bootstrap(values, tasks, confidence=_CONFIDENCE)
    return 100 * sum(values) / len(values), 100 * interval.low, 100 * interval.high


def _reason(found: Attribution) -> Reason:
    told = ", ".join(
        f"{name} {estimate:+.1f} ({low:+.1f} to {high:+.1f})"
        for name, (estimate, low, high) in found.effects.items()
        if name != "total"
    )
    message = (
        f"{SUITE}: {found.effects['total'][0]:+.1f} points against production on {found.n} tasks: {told}"
    )
    numbers: dict[str, float | int] = {name: effect[0] for name, effect in found.effects.items()}
    return Reason(ReasonCode.ATTRIBUTION, "attribution", message, {**numbers, "n": found.n})
