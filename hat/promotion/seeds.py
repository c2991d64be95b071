"""The effect of the training seed: the same recipe trained again, on the same items under the same harness."""

from collections.abc import Iterable, Mapping, Sequence

from hat.evaluation.planning import seed_effect
from hat.promotion.comparison import Measurements
from hat.promotion.documents import EvaluationDocument
from hat.promotion.integrity import missing, name_some
from hat.promotion.measures import Measured, measure
from hat.promotion.policy import Policy, SeedsCriterion
from hat.promotion.reasons import Reason, ReasonCode


def seed_reasons(
    policy: Policy, measurements: Measurements, seeds: Mapping[str, EvaluationDocument]
) -> list[Reason]:
    """A finding for each criterion about seeds."""
    candidate = measurements.usable.get("candidate")
    if candidate is None:
        return []
    return [_judge(one, candidate, seeds).with_severity(one.severity) for one in policy.seeds]


def _judge(
    criterion: SeedsCriterion, candidate: EvaluationDocument, seeds: Mapping[str, EvaluationDocument]
) -> Reason:
    name = f"{criterion.suite}.{criterion.metric} over seeds"
    ours = measure(candidate, "candidate", criterion.suite, criterion.metric)
    if isinstance(ours, Reason):
        return ours
    trainings = [ours]
    for seed, document in sorted(seeds.items()):
        measured = _of_seed(criterion, seed, document, candidate, ours, name)
        if isinstance(measured, Reason):
            return measured
        trainings.append(measured)
    repeated = len({document.model_digest for document in (candidate, *seeds.values())})
    if repeated != len(trainings):
        message = f"{name}: {len(trainings)} evaluations are of {repeated} different models"
        return Reason(ReasonCode.INCONSISTENT, name, message)
    n = len(ours.scores)
    effect = seed_effect([_rate(one.scores.values()) for one in trainings], n)
    points = {"mean": effect.mean, "worst": effect.worst, "best": effect.best}
    points |= {"deviation": effect.deviation, "expected_deviation": effect.expected_deviation}
    numbers: dict[str, float | int] = {key: 100 * value for key, value in points.items()}
    numbers |= {"n": n, "seeds": effect.seeds, "bar": criterion.at_least}
    seen = (
        f"{name}: {100 * effect.worst:.1f} to {100 * effect.best:.1f} in {effect.seeds} trainings on {n} items, "
        f"standard deviation {100 * effect.deviation:.1f} where the choice of items alone gives "
        f"{100 * effect.expected_deviation:.1f}; asked {criterion.at_least:g} of the worst"
    )
    if 100 * effect.worst < criterion.at_least:
        return Reason(ReasonCode.SEED_BELOW_BAR, name, seen, numbers)
    if effect.seeds < criterion.minimum_seeds:
        needed = criterion.minimum_seeds
        message = f"{seen}; needs at least {needed} trainings, has {effect.seeds}"
        return Reason(ReasonCode.TOO_FEW_SAMPLES, name, message, {**numbers, "needed_n": needed})
    return Reason(ReasonCode.MET, name, seen, numbers)


def _of_seed(
    criterion: SeedsCriterion,
    seed: str,
    document: EvaluationDocument,
    candidate: EvaluationDocument,
    ours: Measured,
    name: str,
) -> Measured | Reason:
    if document.harness_digest != candidate.harness_digest:
        message = f"{name}: seed {seed} was measured under another harness ({document.harness_digest[:12]})"
        return Reason(ReasonCode.HARNESS_MISMATCH, name, message)
    if criterion.suite not in document.suites:
        return missing(name, f"{name}: seed {seed} was not evaluated on {criterion.suite}")
    measured = measure(document, "candidate", criterion.suite, criterion.metric)
    if isinstance(measured, Measured) and (unpaired := _contents(measured) ^ _contents(ours)):
        message = f"{name}: seed {seed} was asked other items: {name_some({item for item, _ in unpaired})}"
        return Reason(ReasonCode.MISMATCHED_ITEMS, name, message)
    return measured


def _contents(measured: Measured) -> set[tuple[str, str]]:
    return {(item.id, item.task_digest) for item in measured.items.values()}


def _rate(scores: Iterable[float]) -> float:
    values: Sequence[float] = list(scores)
    return sum(values) / len(values)
