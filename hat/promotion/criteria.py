"""The quality criteria: absolute bars and comparisons paired by item.

One rule for all of them: a yes needs proof, a no does not. A criterion is met when the confidence bound is on
the right side of the bar. It fails when the estimate is on the wrong side with the policy's number of items,
or with fewer when the opposite bound is on the wrong side too. Anything between is not proven.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hat.evaluation.planning import detectable_rate
from hat.evaluation.statistics import (
    minimum_n_for_margin,
    minimum_n_for_rate,
    wilson_interval,
    wilson_lower_bound,
    wilson_upper_bound,
)
from hat.promotion.comparison import Comparison, Measurements, beyond, compare, paired
from hat.promotion.measures import Measured, improvements, measure
from hat.promotion.policy import LOWER_IS_BETTER, AbsoluteCriterion, Metric, Policy, RelativeCriterion
from hat.promotion.reasons import Reason, ReasonCode

_SLACK = 1e-9
"""Points by which floating-point error may miss a bar."""


@dataclass(frozen=True)
class Told:
    """How a share of good outcomes is told in a metric's own direction."""

    lower_is_better: bool

    @staticmethod
    def of(metric: Metric) -> "Told":
        return Told(metric in LOWER_IS_BETTER)

    @property
    def bound(self) -> str:
        """What the bound that decides is called."""
        return "upper" if self.lower_is_better else "lower"

    @property
    def asked(self) -> str:
        """Stands before the bar."""
        return "at most " if self.lower_is_better else ""

    def points(self, share: float) -> float:
        """A share of good outcomes in points of the metric."""
        return 100 * (1 - share) if self.lower_is_better else 100 * share


def quality_reasons(policy: Policy, measurements: Measurements) -> list[Reason]:
    """A finding for every absolute and relative criterion, and for what is only reported."""
    reasons = [reason for criterion in policy.absolute for reason in _absolute(criterion, measurements)]
    for relative in policy.relative:
        reasons += _relative(relative, measurements)
    for suite in policy.reported:
        reasons += _reported(suite, measurements)
    return reasons


def _absolute(criterion: AbsoluteCriterion, measurements: Measurements) -> Iterable[Reason]:
    candidate = measurements.usable.get("candidate")
    if candidate is None:
        return
    measured = measure(candidate, "candidate", criterion.suite, criterion.metric)
    if isinstance(measured, Reason):
        yield measured.with_severity(criterion.severity)
        return
    yield _judge_rate(criterion, measured).with_severity(criterion.severity)


def _judge_rate(criterion: AbsoluteCriterion, measured: Measured) -> Reason:
    """Everything is judged as a share of good outcomes, and told in the metric's own direction."""
    n, confidence = len(measured.scores), criterion.confidence
    good = sum(improvements(criterion.metric, measured.scores).values())
    low, high = wilson_lower_bound(good, n, confidence), wilson_upper_bound(good, n, confidence)
    bar, share = criterion.share_bar, 100 * good / n
    told = Told.of(criterion.metric)
    bounds = sorted((told.points(low), told.points(high)))
    detectable = detectable_rate(bar / 100, n, confidence, criterion.power)
    numbers = {"estimate": told.points(good / n), "low": bounds[0], "high": bounds[1], "n": n}
    numbers["bar"] = told.points(bar / 100)
    numbers |= {"power": criterion.power} | (
        {} if detectable is None else {"detectable": told.points(detectable)}
    )
    name = f"{criterion.suite}.{criterion.metric}"
    seen = (
        f"{name} is {told.points(good / n):.1f} on {n} items, {told.bound} bound {told.points(low):.1f} "
        f"at {confidence:.0%}, asked {told.asked}{told.points(bar / 100):g}"
    )
    enough = n >= criterion.minimum_n
    if enough and 100 * low >= bar - _SLACK:
        return Reason(ReasonCode.MET, name, seen, numbers)
    if 100 * high < bar - _SLACK or (enough and share < bar - _SLACK):
        return Reason(ReasonCode.BELOW_BAR, name, seen, numbers)
    if not enough:
        needed = criterion.minimum_n
        message = f"{seen}; needs at least {needed} items, has {n}"
        return Reason(ReasonCode.TOO_FEW_SAMPLES, name, message, {**numbers, "needed_n": needed})
    needed_n = minimum_n_for_rate(bar / 100, share / 100, confidence)
    if detectable is not None:
        seen += f" ({n} items prove it for a true {told.points(detectable):.1f}, {criterion.power:.0%} of the time)"
    return _not_proven(name, seen, numbers, needed_n)


def _relative(criterion: RelativeCriterion, measurements: Measurements) -> Iterable[Reason]:
    candidate = measurements.usable.get("candidate")
    suite = criterion.suite_of(() if candidate is None else candidate.suites)
    name = f"{suite}.{criterion.metric} vs {criterion.against}"
    pairs = paired(suite, criterion.metric, criterion.against, measurements, name)
    if isinstance(pairs, Reason):
        yield pairs.with_severity(criterion.severity)
    elif pairs is not None:
        yield _compare(criterion, compare(pairs, criterion.confidence), name).with_severity(
            criterion.severity
        )


def _compare(criterion: RelativeCriterion, comparison: Comparison, name: str) -> Reason:
    difference, margin = comparison.difference, criterion.margin
    detectable = comparison.detectable(criterion.confidence, criterion.power)
    numbers = {**comparison.numbers(), "margin": margin, "detectable": detectable, "power": criterion.power}
    seen = f"{name}: {comparison.describe(criterion.confidence)}, margin {margin:g}"
    enough = difference.n >= criterion.minimum_n
    if beyond(difference.high, margin) or (enough and beyond(difference.mean, margin)):
        return Reason(ReasonCode.REGRESSION, name, seen, numbers)
    if not enough:
        needed = criterion.minimum_n
        message = f"{seen}; needs at least {needed} items, has {difference.n}"
        return Reason(ReasonCode.TOO_FEW_SAMPLES, name, message, {**numbers, "needed_n": needed})
    if criterion.rule == "veto":
        message = f"{seen}; no loss beyond the margin was seen (a veto, not a proof)"
        return Reason(ReasonCode.MET, name, message, numbers)
    if not beyond(difference.low, margin):
        return Reason(ReasonCode.MET, name, seen, numbers)
    needed_n = minimum_n_for_margin(
        margin / 100, comparison.gained, comparison.lost, difference.n, criterion.confidence
    )
    planned = comparison.pairs_needed(margin, criterion.confidence, criterion.power)
    seen += (
        f" ({difference.n} items detect {detectable:.1f} points with a power of {criterion.power:.0%}; "
        f"the margin takes {planned} if the models are equal)"
    )
    return _not_proven(name, seen, {**numbers, "planned_n": planned or 0}, needed_n)


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


def _not_proven(name: str, seen: str, numbers: Mapping[str, float | int], needed: int | None) -> Reason:
    if needed is None:
        message = f"{seen}; no number of items proves it at this rate"
        return Reason(ReasonCode.NOT_PROVEN, name, message, numbers)
    message = f"{seen}; at this rate {needed} items would prove it"
    return Reason(ReasonCode.NOT_PROVEN, name, message, {**numbers, "needed_n": needed})
