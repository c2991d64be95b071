"""Slices: every one is reported with intervals; those that the policy names can veto.

A slice is a part of a suite's items: those of one intent, skill, language, HSA family or held-out harness. Many
slices are looked at together, so bounds share one error (Bonferroni) and p-values are adjusted (Holm).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from hat.evaluation.planning import holm, shared_confidence
from hat.evaluation.statistics import wilson_interval, wilson_lower_bound, wilson_upper_bound
from hat.promotion.comparison import Measurements, beyond, compare, paired
from hat.promotion.documents import Item
from hat.promotion.integrity import missing
from hat.promotion.measures import Measured, Pairs, measure
from hat.promotion.policy import Policy, SliceCriterion, SliceKey
from hat.promotion.reasons import Reason, ReasonCode

_SLACK = 1e-9
_OPTIONAL = ("family", "harness")
"""Keys that only some items have: those shown under an augmented or held-out harness."""


@dataclass(frozen=True)
class SliceRow:
    """One slice of the candidate's accuracy. Rates and differences in points."""

    suite: str
    by: SliceKey
    slice: str
    n: int
    accuracy: float
    low: float
    high: float
    """With `low`, the two-sided 95% Wilson interval."""
    difference: float | None = None
    """Candidate minus production on the same items; None when they were not compared."""
    difference_low: float | None = None
    difference_high: float | None = None
    """One-sided bounds at 95% each."""
    p_value: float | None = None
    """Exact McNemar."""
    p_adjusted: float | None = None
    """The same, adjusted for the number of slices of this suite and key."""
    decides: bool = False
    """Whether a hard criterion of the policy names this slice's suite and key."""

    def to_json(self) -> dict[str, Any]:
        return {
            name: round(value, 4) if isinstance(value, float) else value for name, value in vars(self).items()
        }


def slice_reasons(policy: Policy, measurements: Measurements) -> list[Reason]:
    """A finding for each slice of each criterion."""
    return [
        reason.with_severity(criterion.severity)
        for criterion in policy.slices
        for reason in _criterion(criterion, measurements)
    ]


def slice_rows(policy: Policy, measurements: Measurements) -> tuple[SliceRow, ...]:
    """Every slice of every suite that the candidate was evaluated on, whether or not it decides."""
    candidate = measurements.usable.get("candidate")
    if candidate is None:
        return ()
    deciding = {(one.suite, one.by) for one in policy.slices if one.severity == "hard"}
    rows: list[SliceRow] = []
    for suite in sorted(candidate.suites):
        measured = measure(candidate, "candidate", suite, "accuracy")
        if isinstance(measured, Reason):
            continue
        pairs = paired(suite, "accuracy", "production", measurements, suite)
        for by in get_args(SliceKey):
            table = _rows(suite, by, measured, pairs if isinstance(pairs, Pairs) else None)
            rows += [replace(row, decides=(suite, by) in deciding) for row in table]
    return tuple(rows)


def _rows(suite: str, by: SliceKey, measured: Measured, pairs: Pairs | None) -> Sequence[SliceRow]:
    order = sorted(measured.items)
    rows = []
    for label, members in _members([measured.items[item] for item in order], by).items():
        n, right = len(members), sum(measured.scores[order[index]] for index in members)
        interval = wilson_interval(right, n)
        row = SliceRow(suite, by, label, n, 100 * right / n, 100 * interval.low, 100 * interval.high)
        if pairs is not None:
            # Both lists are sorted by item id, so the indices are the same.
            comparison = compare(pairs, 0.95, members)
            difference = comparison.difference
            row = replace(
                row,
                difference=100 * difference.mean,
                difference_low=100 * difference.low,
                difference_high=100 * difference.high,
                p_value=comparison.p_value,
            )
        rows.append(row)
    tested = [row.p_value for row in rows if row.p_value is not None]
    if len(tested) != len(rows):
        return rows
    return [replace(row, p_adjusted=p) for row, p in zip(rows, holm(tested), strict=True)]


def _members(items: Sequence[Item], by: SliceKey) -> Mapping[str, list[int]]:
    """Slice -> indices of its items, in the slices' order."""
    members: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        for label in item.slices(by):
            members.setdefault(label, []).append(index)
    return dict(sorted(members.items()))


def _criterion(criterion: SliceCriterion, measurements: Measurements) -> Iterable[Reason]:
    if criterion.against is None:
        yield from _floors(criterion, measurements)
        return
    name = f"{criterion.suite}.{criterion.metric} vs {criterion.against} by {criterion.by}"
    pairs = paired(criterion.suite, criterion.metric, criterion.against, measurements, name)
    if isinstance(pairs, Reason):
        yield pairs
        return
    if pairs is None:
        return
    members = _members(pairs.items, criterion.by)
    if (fault := _unlabelled(criterion, pairs.items, members, name)) is not None:
        yield fault
        return
    for label, indices in members.items():
        yield _loss(criterion, pairs, label, indices, len(members))


def _loss(criterion: SliceCriterion, pairs: Pairs, label: str, indices: Sequence[int], slices: int) -> Reason:
    confidence, margin = shared_confidence(criterion.confidence, slices), criterion.margin or 0.0
    comparison = compare(pairs, confidence, indices)
    difference = comparison.difference
    name = _name(criterion, label)
    numbers = {**comparison.numbers(), "margin": margin, "slices": slices}
    seen = f"{name} vs {criterion.against}: {comparison.describe(confidence)}, margin {margin:g}"
    enough = difference.n >= criterion.minimum_n
    if beyond(difference.high, margin) or (enough and beyond(difference.mean, margin)):
        return Reason(ReasonCode.SLICE_REGRESSION, name, seen, numbers)
    return _no_veto(criterion, enough, name, seen, numbers)


def _floors(criterion: SliceCriterion, measurements: Measurements) -> Iterable[Reason]:
    candidate = measurements.usable.get("candidate")
    if candidate is None:
        return
    measured = measure(candidate, "candidate", criterion.suite, criterion.metric)
    if isinstance(measured, Reason):
        yield measured
        return
    order = sorted(measured.items)
    items = [measured.items[item] for item in order]
    members = _members(items, criterion.by)
    name = f"{criterion.suite}.{criterion.metric} by {criterion.by}"
    if (fault := _unlabelled(criterion, items, members, name)) is not None:
        yield fault
        return
    for label, indices in members.items():
        right = sum(measured.scores[order[index]] for index in indices)
        yield _floor(criterion, label, right, len(indices), len(members))


def _floor(criterion: SliceCriterion, label: str, right: float, n: int, slices: int) -> Reason:
    confidence, bar = shared_confidence(criterion.confidence, slices), criterion.at_least or 0.0
    low, high = wilson_lower_bound(right, n, confidence), wilson_upper_bound(right, n, confidence)
    estimate, name = 100 * right / n, _name(criterion, label)
    numbers = {"estimate": estimate, "low": 100 * low, "high": 100 * high, "n": n, "bar": bar}
    seen = (
        f"{name} is {estimate:.1f} on {n} items, bounds {100 * low:.1f} and {100 * high:.1f}, asked {bar:g}"
    )
    enough = n >= criterion.minimum_n
    if 100 * high < bar or (enough and estimate < bar - _SLACK):
        return Reason(ReasonCode.SLICE_BELOW_BAR, name, seen, {**numbers, "slices": slices})
    return _no_veto(criterion, enough, name, seen, {**numbers, "slices": slices})


def _no_veto(
    criterion: SliceCriterion, enough: bool, name: str, seen: str, numbers: Mapping[str, float | int]
) -> Reason:
    if enough:
        return Reason(ReasonCode.MET, name, seen, numbers)
    message = f"{seen}; reported only, the slice decides from {criterion.minimum_n} items"
    return Reason(ReasonCode.REPORTED, name, message, numbers)


def _unlabelled(
    criterion: SliceCriterion, items: Sequence[Item], members: Mapping[str, list[int]], name: str
) -> Reason | None:
    """A slice that the policy names cannot be judged when items do not say which they are in."""
    without = sum(not item.slices(criterion.by) for item in items)
    if members and (not without or criterion.by in _OPTIONAL):
        return None
    message = f"{criterion.suite}: {without} of {len(items)} items do not say their {criterion.by}"
    return missing(name, message)


def _name(criterion: SliceCriterion, label: str) -> str:
    return f"{criterion.suite}.{criterion.metric}[{criterion.by}={label}]"
