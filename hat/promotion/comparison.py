"""Two models on the same items: the pairs, their difference with bounds, and what so many pairs can show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hat.evaluation.planning import design_effect, detectable_margin, disagreement, pairs_for_margin
from hat.evaluation.statistics import PairedDifference, mcnemar_exact, paired_difference
from hat.promotion.documents import EvaluationDocument, EvidenceSubject, Role
from hat.promotion.evidence import evaluation_file
from hat.promotion.integrity import missing
from hat.promotion.measures import Pairs, measure, pair
from hat.promotion.policy import Metric, Reference
from hat.promotion.reasons import Reason, ReasonCode

_SLACK = 1e-9
"""Points by which floating-point error may miss a margin."""


@dataclass(frozen=True)
class Measurements:
    """What criteria look at: the evaluations that passed the integrity checks, and what they are of."""

    subject: EvidenceSubject
    usable: Mapping[Role, EvaluationDocument]
    recorded: frozenset[Role]
    """Roles whose evaluation was recorded; one that is not usable has been reported already."""


@dataclass(frozen=True)
class Comparison:
    """The candidate against a reference on paired items; a positive difference is an improvement."""

    difference: PairedDifference
    gained: float
    """Sum of the positive differences: for 0/1 scores, items that only the candidate got right."""
    lost: float
    """The same of the negative ones."""
    p_value: float | None
    """Two-sided exact McNemar; None for scores that are not 0/1."""
    design_effect: float
    """How many times larger clusters make the variance; see `hat.evaluation.planning.design_effect`."""

    @property
    def _disagreeing(self) -> float:
        return min(1.0, disagreement(self.gained, self.lost, self.difference.n))

    def detectable(self, confidence: float, power: float) -> float:
        """The smallest loss, in points, that so many pairs find with that power; clusters are allowed for."""
        effective = self.difference.n / self.design_effect
        return 100 * detectable_margin(effective, self._disagreeing, confidence, power)

    def pairs_needed(self, margin: float, confidence: float, power: float) -> int | None:
        """The pairs that prove no loss beyond ``margin`` points with that power, clustered as these are."""
        independent = pairs_for_margin(margin / 100, self._disagreeing, confidence, power)
        return None if independent is None else round(independent * self.design_effect)

    def numbers(self) -> dict[str, float | int]:
        """The comparison for tables; differences in points."""
        numbers: dict[str, float | int] = {
            "estimate": 100 * self.difference.mean,
            "low": 100 * self.difference.low,
            "high": 100 * self.difference.high,
            "n": self.difference.n,
            "clusters": self.difference.clusters,
            "design_effect": self.design_effect,
        }
        if self.p_value is not None:
            numbers |= {"gained": self.gained, "lost": self.lost, "p_value": self.p_value}
        return numbers

    def describe(self, confidence: float) -> str:
        """The comparison in words."""
        exact = "" if self.p_value is None else f", exact McNemar p = {self.p_value:.2g}"
        return (
            f"{100 * self.difference.mean:+.1f} points on {self.difference.n} paired items, bounds "
            f"{100 * self.difference.low:+.1f} and {100 * self.difference.high:+.1f} at {confidence:.1%} each"
        ).replace(".0%", "%") + exact


def compare(pairs: Pairs, confidence: float, indices: Sequence[int] | None = None) -> Comparison:
    """Compare the pairs, or those at ``indices``; items of one task count as one cluster."""
    chosen = range(len(pairs.items)) if indices is None else indices
    candidate = [pairs.candidate[index] for index in chosen]
    reference = [pairs.reference[index] for index in chosen]
    clusters = [pairs.items[index].task_digest for index in chosen]
    differences = [one - other for one, other in zip(candidate, reference, strict=True)]
    gained = sum(value for value in differences if value > 0)
    lost = -sum(value for value in differences if value < 0)
    exact = set(differences) <= {-1.0, 0.0, 1.0}
    return Comparison(
        difference=paired_difference(candidate, reference, clusters, confidence=confidence),
        gained=gained,
        lost=lost,
        p_value=mcnemar_exact(round(gained), round(lost)) if exact else None,
        design_effect=design_effect(differences, clusters),
    )


def paired(
    suite: str, metric: Metric, against: Reference, measurements: Measurements, name: str
) -> Pairs | Reason | None:
    """The paired scores, the reason why there are none, or None when that has been reported already."""
    subject = measurements.subject
    if subject.screens_production:
        message = f"{name}: the candidate is the production model itself, so only absolute criteria apply"
        return Reason(ReasonCode.NOT_APPLICABLE, name, message)
    if against == "production" and subject.models.production is None:
        return Reason(ReasonCode.NOT_APPLICABLE, name, f"{name}: nothing is in production to compare with")
    if against not in measurements.recorded:
        return missing(name, f"{name}: {evaluation_file(against)} is missing")
    if against not in measurements.usable or "candidate" not in measurements.usable:
        return None
    candidate = measure(measurements.usable["candidate"], "candidate", suite, metric)
    reference = measure(measurements.usable[against], against, suite, metric)
    if isinstance(candidate, Reason):
        return candidate
    if isinstance(reference, Reason):
        return reference
    return pair(candidate, reference, against, name, metric)


def beyond(difference: float, margin: float) -> bool:
    """Whether a difference (a fraction) is a loss of more than ``margin`` points."""
    return 100 * difference < -margin - _SLACK
