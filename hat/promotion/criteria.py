"""The quality criteria: absolute bars, comparisons paired by item, slices.

One rule for all of them: a yes needs proof, a no does not. A criterion is met when the confidence bound is on
the right side of the bar. It fails when the estimate is on the wrong side with the policy's number of items,
or with fewer when the opposite bound is on the wrong side too. Anything between is not proven.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hat.evaluation.statistics import (
    PairedDifference,
    minimum_n_for_margin,
    minimum_n_for_rate,
    paired_difference,
    wilson_interval,
    wilson_lower_bound,
    wilson_upper_bound,
)
from hat.promotion.documents import EvaluationDocument, EvidenceSubject, Role
from hat.promotion.evidence import evaluation_file
from hat.promotion.integrity import missing
from hat.promotion.measures import Pairs, measure, pair
from hat.promotion.policy import AbsoluteCriterion, Policy, RelativeCriterion, SliceCriterion
from hat.promotion.reasons import Reason, ReasonCode

_SLACK = 1e-9
"""Points by which floating-point error may miss a bar."""


@dataclass(frozen=True)
class Measurements:
    """What criteria look at: the evaluations that passed the integrity checks, and what they are of."""

    subject: EvidenceSubject
    usable: Mapping[Role, EvaluationDocument]
    recorded: frozenset[Role]
    """Roles whose evaluation was recorded; one that is not usable has been reported already."""


def quality_reasons(policy: Policy, measurements: Measurements) -> list[Reason]:
    """A finding for every quality criterion, and one a slice."""
    reasons = [reason for criterion in policy.absolute for reason in _absolute(criterion, measurements)]
    for relative in policy.relative:
        reasons += _relative(relative, measurements)
    for criterion in policy.slices:
        reasons += _slices(criterion, measurements)
    for suite in policy.reported:
        reasons += _reported(suite, measurements)
    return reasons


def _absolute(criterion: AbsoluteCriterion, measurements: Measurements) -> Iterable[Reason]:
    candidate = measurements.usable.get("candidate")
    if candidate is None:
        return
    measured = measure(candidate, "candidate", criterion.suite, criterion.metric)
    if isinstance(measured, Reason):
        yield measured
        return
    n, total = len(measured.scores), sum(measured.scores.values())
    estimate = 100 * total / n
    low = 100 * wilson_lower_bound(total, n, criterion.confidence)
    high = 100 * wilson_upper_bound(total, n, criterion.confidence)
    bar = criterion.at_least
    numbers = {"estimate": estimate, "low": low, "high": high, "n": n, "bar": bar}
    name = f"{criterion.suite}.{criterion.metric}"
    seen = (
        f"{name} is {estimate:.1f} on {n} items, lower bound {low:.1f} at {criterion.confidence:.0%}, "
        f"asked {bar:g}"
    )
    enough = n >= criterion.minimum_n
    if enough and low >= bar - _SLACK:
        yield Reason(ReasonCode.MET, name, seen, numbers)
    elif high < bar or (enough and estimate < bar):
        yield Reason(ReasonCode.BELOW_BAR, name, seen, numbers)
    elif not enough:
        needed = criterion.minimum_n
        message = f"{seen}; needs at least {needed} items, has {n}"
        yield Reason(ReasonCode.TOO_FEW_SAMPLES, name, message, {**numbers, "needed_n": needed})
    else:
        needed_n = minimum_n_for_rate(bar / 100, estimate / 100, criterion.confidence)
        yield _not_proven(name, seen, numbers, needed_n)


def _relative(criterion: RelativeCriterion, measurements: Measurements) -> Iterable[Reason]:
    candidate = measurements.usable.get("candidate")
    suite = criterion.suite_of(() if candidate is None else candidate.suites)
    name = f"{suite}.{criterion.metric} vs {criterion.against}"
    pairs = _pairs(criterion, suite, measurements, name)
    if isinstance(pairs, Reason):
        yield pairs
    elif pairs is not None:
        yield _compare(criterion, pairs, name)


def _compare(criterion: RelativeCriterion, pairs: Pairs, name: str) -> Reason:
    difference = _difference(pairs, range(len(pairs.items)), criterion.confidence)
    numbers = _numbers(difference, criterion.margin)
    seen = f"{name}: {_describe(difference, criterion.confidence)}, margin {criterion.margin:g}"
    enough = difference.n >= criterion.minimum_n
    if _beyond(difference.high, criterion.margin) or (enough and _beyond(difference.mean, criterion.margin)):
        return Reason(ReasonCode.REGRESSION, name, seen, numbers)
    if not enough:
        needed = criterion.minimum_n
        message = f"{seen}; needs at least {needed} items, has {difference.n}"
        return Reason(ReasonCode.TOO_FEW_SAMPLES, name, message, {**numbers, "needed_n": needed})
    if criterion.rule == "veto":
        message = f"{seen}; no loss beyond the margin was seen (a veto, not a proof)"
        return Reason(ReasonCode.MET, name, message, numbers)
    if not _beyond(difference.low, criterion.margin):
        return Reason(ReasonCode.MET, name, seen, numbers)
    differences = [one - other for one, other in zip(pairs.candidate, pairs.reference, strict=True)]
    gained = sum(value for value in differences if value > 0)
    lost = -sum(value for value in differences if value < 0)
    needed_n = minimum_n_for_margin(criterion.margin / 100, gained, lost, difference.n, criterion.confidence)
    return _not_proven(name, seen, numbers, needed_n)


def _slices(criterion: SliceCriterion, measurements: Measurements) -> Iterable[Reason]:
    name = f"{criterion.suite}.{criterion.metric} vs {criterion.against} by {criterion.by}"
    pairs = _pairs(criterion, criterion.suite, measurements, name)
    if isinstance(pairs, Reason):
        yield pairs
        return
    if pairs is None:
        return
    members: dict[str, list[int]] = {}
    unlabelled = 0
    for index, item in enumerate(pairs.items):
        labels = item.slices(criterion.by)
        unlabelled += not labels
        for label in labels:
            members.setdefault(label, []).append(index)
    # An item shown under the original harness has no family; every item has an intent and a language.
    if not members or (unlabelled and criterion.by != "family"):
        yield missing(
            name,
            f"{criterion.suite}: {unlabelled} of {len(pairs.items)} items do not say their {criterion.by}",
        )
        return
    for label in sorted(members):
        difference = _difference(pairs, members[label], criterion.confidence)
        yield _slice(criterion, difference, f"{criterion.suite}.{criterion.metric}[{criterion.by}={label}]")


def _slice(criterion: SliceCriterion, difference: PairedDifference, name: str) -> Reason:
    numbers = _numbers(difference, criterion.margin)
    described = _describe(difference, criterion.confidence)
    seen = f"{name} vs {criterion.against}: {described}, margin {criterion.margin:g}"
    enough = difference.n >= criterion.minimum_n
    if _beyond(difference.high, criterion.margin) or (enough and _beyond(difference.mean, criterion.margin)):
        return Reason(ReasonCode.SLICE_REGRESSION, name, seen, numbers)
    if not enough:
        message = f"{seen}; reported only, the slice decides from {criterion.minimum_n} items"
        return Reason(ReasonCode.REPORTED, name, message, numbers)
    return Reason(ReasonCode.MET, name, seen, numbers)


def _reported(suite: str, measurements: Measurements) -> Iterable[Reason]:
    candidate = measurements.usable.get("candidate")
    if candidate is None:
        return
    name = f"{suite}.accuracy"
    measured = measure(candidate, "candidate", suite, "accuracy")
    if isinstance(measured, Reason):
        yield Reason(ReasonCode.REPORTED, name, f"{measured.message}; reported only")
        return
    n, total = len(measured.scores), sum(measured.scores.values())
    interval = wilson_interval(total, n)
    estimate, low, high = 100 * total / n, 100 * interval.low, 100 * interval.high
    numbers = {"estimate": estimate, "low": low, "high": high, "n": n}
    message = f"{name} is {estimate:.1f} on {n} items, 95% interval {low:.1f} to {high:.1f}; reported only"
    yield Reason(ReasonCode.REPORTED, name, message, numbers)


def _pairs(
    criterion: RelativeCriterion | SliceCriterion, suite: str, measurements: Measurements, name: str
) -> Pairs | Reason | None:
    """The paired scores, the reason why there are none, or None when that has been reported already."""
    subject, role = measurements.subject, criterion.against
    if subject.screens_production:
        message = f"{name}: the candidate is the production model itself, so only absolute criteria apply"
        return Reason(ReasonCode.NOT_APPLICABLE, name, message)
    if role == "production" and subject.models.production is None:
        return Reason(ReasonCode.NOT_APPLICABLE, name, f"{name}: nothing is in production to compare with")
    if role not in measurements.recorded:
        return missing(name, f"{name}: {evaluation_file(role)} is missing")
    if role not in measurements.usable or "candidate" not in measurements.usable:
        return None
    candidate = measure(measurements.usable["candidate"], "candidate", suite, criterion.metric)
    reference = measure(measurements.usable[role], role, suite, criterion.metric)
    if isinstance(candidate, Reason):
        return candidate
    if isinstance(reference, Reason):
        return reference
    return pair(candidate, reference, role, name)


def _difference(pairs: Pairs, indices: Sequence[int], confidence: float) -> PairedDifference:
    return paired_difference(
        [pairs.candidate[index] for index in indices],
        [pairs.reference[index] for index in indices],
        [pairs.items[index].task_digest for index in indices],
        confidence=confidence,
    )


def _beyond(difference: float, margin: float) -> bool:
    return 100 * difference < -margin - _SLACK


def _numbers(difference: PairedDifference, margin: float) -> dict[str, float | int]:
    return {
        "estimate": 100 * difference.mean,
        "low": 100 * difference.low,
        "high": 100 * difference.high,
        "n": difference.n,
        "clusters": difference.clusters,
        "margin": margin,
    }


def _describe(difference: PairedDifference, confidence: float) -> str:
    return (
        f"{100 * difference.mean:+.1f} points on {difference.n} paired items, "
        f"bounds {100 * difference.low:+.1f} and {100 * difference.high:+.1f} at {confidence:.0%} each"
    )


def _not_proven(name: str, seen: str, numbers: Mapping[str, float | int], needed: int | None) -> Reason:
    if needed is None:
        message = f"{seen}; no number of items proves it at this rate"
        return Reason(ReasonCode.NOT_PROVEN, name, message, numbers)
    message = f"{seen}; at this rate {needed} items would prove it"
    return Reason(ReasonCode.NOT_PROVEN, name, message, {**numbers, "needed_n": needed})
