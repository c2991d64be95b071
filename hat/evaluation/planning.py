"""What a sample can show before and after it is drawn: power, detectable effects, many tests at once, seeds.

Pure functions on numbers, standard library only, like `hat.evaluation.statistics`. Differences, margins and rates
are fractions, not points.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from hat.evaluation.statistics import binomial_cdf, minimum_n_for_margin, normal_quantile, wilson_lower_bound

_BISECTIONS = 40


def design_effect(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """How many times larger the variance of a mean is because items come in clusters (Kish 1965).

    The cluster-robust variance of the mean over that of independent items, never below 1: n items are worth
    n / design effect independent ones. 1 where nothing varies.

    Raises:
        ValueError: no values, or not one cluster label a value.
    """
    if not values or len(values) != len(clusters):
        raise ValueError(f"{len(values)} values with {len(clusters)} cluster labels")
    mean = math.fsum(values) / len(values)
    independent = math.fsum((value - mean) ** 2 for value in values)
    if independent <= 1e-12:
        return 1.0
    sums: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    return max(1.0, math.fsum(total**2 for total in sums.values()) / independent)


def disagreement(gained: float, lost: float, n: int) -> float:
    """The share of pairs that disagree, by Laplace's rule: a sample without any does not prove that there are none."""
    return (gained + lost + 1) / (n + 2)


def detectable_margin(n: float, disagreeing: float, confidence: float = 0.95, power: float = 0.8) -> float:
    """The smallest margin that ``n`` independent pairs prove with that power when the two models are equal.

    It is also the smallest true loss that a one-sided test at that confidence finds with that power. From the normal
    approximation of a paired difference of rates with variance ``disagreeing / n`` (Lachin 1992; Tango 1998).

    Raises:
        ValueError: n <= 0, a share outside of [0, 1], or a confidence or power outside of (0, 1).
    """
    if n <= 0 or not 0 <= disagreeing <= 1:
        raise ValueError(f"{n} pairs with a share of {disagreeing} that disagrees")
    return _factor(confidence, power) * math.sqrt(disagreeing / n)


def pairs_for_margin(
    margin: float, disagreeing: float, confidence: float = 0.95, power: float = 0.8
) -> int | None:
    """The pairs needed to prove no loss beyond ``margin`` with that power when the two models are equal.

    Never fewer than prove it when all pairs agree; None for a margin of 0, which no number of pairs proves.

    Raises:
        ValueError: see `detectable_margin`.
    """
    if margin <= 0:
        return None
    if not 0 <= disagreeing <= 1:
        raise ValueError(f"a share of {disagreeing} that disagrees")
    needed = math.ceil(disagreeing * (_factor(confidence, power) / margin) ** 2 - 1e-9)
    least = minimum_n_for_margin(margin, 0, 0, 1, confidence) or 1
    return max(needed, least)


def detectable_rate(bar: float, n: int, confidence: float = 0.95, power: float = 0.8) -> float | None:
    """The smallest true rate whose Wilson lower bound reaches ``bar`` on ``n`` items with that power.

    None when not even n right answers reach it.

    Raises:
        ValueError: n < 1 or a confidence or power outside of (0, 1).
    """
    normal_quantile(power)
    wanted = next(
        (right for right in range(n + 1) if wilson_lower_bound(right, n, confidence) >= bar - 1e-12), None
    )
    if wanted is None:
        return None
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        reached = 1 - binomial_cdf(wanted - 1, n, middle)
        low, high = (low, middle) if reached >= power else (middle, high)
    return high


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """p-values adjusted for their number, in the given order (Holm, Scand. J. Statist. 1979).

    Rejecting those at or below α keeps the chance of any false rejection at or below α, however the tests depend on
    each other.

    Raises:
        ValueError: a value outside of [0, 1].
    """
    if not all(0 <= value <= 1 for value in p_values):
        raise ValueError("p-values must be between 0 and 1")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def shared_confidence(confidence: float, tests: int) -> float:
    """The confidence of each of several bounds such that all hold together with ``confidence`` (Bonferroni).

    Raises:
        ValueError: tests < 1.
    """
    if tests < 1:
        raise ValueError(f"{tests} tests")
    return 1 - (1 - confidence) / tests


@dataclass(frozen=True)
class SeedEffect:
    """One recipe, trained with several seeds and asked the same ``n`` items."""

    seeds: int
    n: int
    mean: float
    worst: float
    best: float
    deviation: float
    """Sample standard deviation between seeds; 0 with one seed."""
    expected_deviation: float
    """What drawing the items alone would give if all seeds were equally good: sqrt(p (1 - p) / n)."""


def seed_effect(rates: Sequence[float], n: int) -> SeedEffect:
    """How much a score depends on the training seed.

    The same items are asked of each seed, so a deviation well above ``expected_deviation`` is the seed's doing.

    Raises:
        ValueError: no rates, n < 1, or a rate outside of [0, 1].
    """
    if not rates or n < 1 or not all(0 <= rate <= 1 for rate in rates):
        raise ValueError(f"rates {list(rates)} on {n} items")
    mean = math.fsum(rates) / len(rates)
    squares = math.fsum((rate - mean) ** 2 for rate in rates)
    return SeedEffect(
        seeds=len(rates),
        n=n,
        mean=mean,
        worst=min(rates),
        best=max(rates),
        deviation=math.sqrt(squares / (len(rates) - 1)) if len(rates) > 1 else 0.0,
        expected_deviation=math.sqrt(mean * (1 - mean) / n),
    )


def _factor(confidence: float, power: float) -> float:
    return normal_quantile(confidence) + normal_quantile(power)
