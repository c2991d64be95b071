"""From recorded items to the numbers that criteria use, or to the reason why there are none."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hat.promotion.documents import EvaluationDocument, Item, Role, SuiteResult
from hat.promotion.integrity import missing, name_some
from hat.promotion.policy import LOWER_IS_BETTER, Metric
from hat.promotion.reasons import Reason, ReasonCode

_FIELDS: Mapping[Metric, str] = {
    "accuracy": "correct",
    "effectiveness": "effectiveness",
    "tool_rationality": "tool_rationality",
    "skill_selection": "skill_selection",
    "skill_load_rate": "skill_loaded",
    "parse_rate": "parsed",
    "refusal_rate": "refused",
    "over_refusal_rate": "refused",
}
_ANSWERABLE: Mapping[Metric, bool] = {"refusal_rate": False, "over_refusal_rate": True}
"""Metrics of only those items that must, or must not, be declined."""
_ROUNDING = 0.0006
"""How far a rounded accuracy in [0, 1] may lie from the one recomputed from its items."""


@dataclass(frozen=True)
class Measured:
    """One metric of one model on one suite: item id to item and score."""

    items: Mapping[str, Item]
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Pairs:
    """The same items measured on two models, in one order, as shares of good outcomes."""

    items: tuple[Item, ...]
    candidate: tuple[float, ...]
    reference: tuple[float, ...]


def measure(document: EvaluationDocument, role: Role, suite: str, metric: Metric) -> Measured | Reason:
    """The scores of a suite's items, each of which must be there and be a number in [0, 1]."""
    name = f"{suite}.{metric}"
    result = document.suites.get(suite)
    if result is None:
        return missing(name, f"the {role} model was not evaluated on {suite}")
    if not result.items:
        return Reason(ReasonCode.EMPTY, name, f"{suite} of the {role} model has no items")
    fault = _suite_fault(result, role, suite, name)
    if fault is not None:
        return fault
    chosen = _chosen(result, role, suite, metric)
    if isinstance(chosen, Reason):
        return chosen
    scores = {item.id: getattr(item, _FIELDS[metric]) for item in chosen}
    absent = [item for item, score in scores.items() if score is None]
    if absent:
        message = (
            f"{suite}: {len(absent)} of {len(scores)} {role} items have no {metric}: {name_some(absent)}"
        )
        return missing(name, message)
    strange = [item for item, score in scores.items() if not math.isfinite(score)]
    if strange:
        message = f"{name} of {len(strange)} {role} items is not a number: {name_some(strange)}"
        return Reason(ReasonCode.NOT_A_NUMBER, name, message)
    outside = [
        item
        for item, score in scores.items()
        if not 0 <= score <= 1 or (metric == "accuracy" and score not in (0, 1))
    ]
    if outside:
        message = f"{name} of {len(outside)} {role} items is out of range: {name_some(outside)}"
        return Reason(ReasonCode.MALFORMED_EVIDENCE, name, message)
    return Measured({item.id: item for item in chosen}, scores)


def improvements(metric: Metric, scores: Mapping[str, float]) -> dict[str, float]:
    """The scores such that more is better: of a metric of which less is better, the share without."""
    return {item: 1 - score if metric in LOWER_IS_BETTER else score for item, score in scores.items()}


def pair(candidate: Measured, reference: Measured, role: Role, name: str, metric: Metric) -> Pairs | Reason:
    """Put two models' scores side by side by item id, whatever order they were written in; more is better.

    Both must have the same items, with the same content, under the same harness state.
    """
    unpaired = candidate.items.keys() ^ reference.items.keys()
    if unpaired:
        counts = f"the candidate has {len(candidate.items)} items, the {role} model {len(reference.items)}"
        message = f"{name}: {counts}; on one side only: {name_some(unpaired)}"
        return Reason(ReasonCode.MISMATCHED_ITEMS, name, message)
    ours, theirs = improvements(metric, candidate.scores), improvements(metric, reference.scores)
    order = sorted(candidate.items)
    changed = [item for item in order if _content(candidate.items[item]) != _content(reference.items[item])]
    if changed:
        message = (
            f"{name}: {len(changed)} items differ in task or state between the two: {name_some(changed)}"
        )
        return Reason(ReasonCode.MISMATCHED_ITEMS, name, message)
    return Pairs(
        tuple(candidate.items[item] for item in order),
        tuple(ours[item] for item in order),
        tuple(theirs[item] for item in order),
    )


def _chosen(result: SuiteResult, role: Role, suite: str, metric: Metric) -> Sequence[Item] | Reason:
    """The suite's items that the metric is about."""
    wanted = _ANSWERABLE.get(metric)
    if wanted is None:
        return result.items
    name = f"{suite}.{metric}"
    unknown = [item.id for item in result.items if item.answerable is None]
    if unknown:
        message = f"{suite}: {len(unknown)} {role} items do not say whether they can be answered: "
        return missing(name, message + name_some(unknown))
    chosen = [item for item in result.items if item.answerable == wanted]
    what = "that can be answered" if wanted else "that must be declined"
    return chosen or Reason(ReasonCode.EMPTY, name, f"{suite} of the {role} model has no items {what}")


def _suite_fault(result: SuiteResult, role: Role, suite: str, name: str) -> Reason | None:
    """A suite whose summary does not agree with its items was edited or cut: neither can be trusted."""
    repeated = [item for item, count in Counter(item.id for item in result.items).items() if count > 1]
    if repeated:
        message = f"{suite} of the {role} model has items twice: {name_some(repeated)}"
        return Reason(ReasonCode.INCONSISTENT, name, message)
    if result.n != len(result.items):
        message = f"{suite} of the {role} model states n = {result.n} and has {len(result.items)} items"
        return Reason(ReasonCode.INCONSISTENT, name, message)
    if result.accuracy is None:
        return missing(name, f"{suite} of the {role} model states no accuracy")
    if not math.isfinite(result.accuracy):
        message = f"the stated accuracy of the {role} model on {suite} is not a number"
        return Reason(ReasonCode.NOT_A_NUMBER, name, message)
    known = [item.correct for item in result.items if item.correct is not None]
    if len(known) == len(result.items) and all(math.isfinite(score) for score in known):
        mean = sum(known) / len(known)
        if abs(mean - result.accuracy) > _ROUNDING:
            stated = f"{suite} of the {role} model states accuracy {result.accuracy:g}"
            message = f"{stated}, its items give {mean:.4f}"
            return Reason(ReasonCode.INCONSISTENT, name, message)
    return None


def _content(item: Item) -> tuple[str, str]:
    return item.task_digest, json.dumps(item.state, sort_keys=True)
