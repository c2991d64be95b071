"""Intervals, paired tests and sample sizes behind every reported score and every gate decision.

Pure functions on numbers, standard library only, so that a verdict can be recomputed anywhere. Rates are
fractions in [0, 1]. A score between 0 and 1 (Effectiveness is 0, 0.5 or 1) may stand where a success count is
asked for, as the sum of the scores: its variance is at most that of a 0/1 score with the same mean, so every
bound here errs on the cautious side.
"""

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

_BISECTIONS = 60
"""Halvings of an interval of length at most 2: the result is exact to floating-point precision."""
_LARGEST_N = 10_000_000
"""Where a search for a sample size gives up."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float


@dataclass(frozen=True)
class PairedDifference:
    """A mean paired difference (first minus second) with one-sided bounds at one confidence."""

    n: int
    clusters: int
    mean: float
    low: float
    high: float


def normal_quantile(confidence: float) -> float:
    """The z with P(Z <= z) = confidence.

    Raises:
        ValueError: a confidence outside of (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    return NormalDist().inv_cdf(confidence)


def wilson_interval(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Two-sided Wilson score interval of a rate (Wilson, JASA 1927).

    Raises:
        ValueError: n < 1, successes outside of [0, n], or a confidence outside of (0, 1).
    """
    return _wilson(successes, n, normal_quantile((1 + confidence) / 2))


def wilson_lower_bound(successes: float, n: int, confidence: float = 0.95) -> float:
    """One-sided Wilson lower bound: the rate is above it with the stated confidence."""
    return _wilson(successes, n, normal_quantile(confidence)).low


def wilson_upper_bound(successes: float, n: int, confidence: float = 0.95) -> float:
    """One-sided Wilson upper bound: the rate is below it with the stated confidence."""
    return _wilson(successes, n, normal_quantile(confidence)).high


def minimum_n_for_rate(bound: float, rate: float, confidence: float = 0.95) -> int | None:
    """The fewest items at which an observed ``rate`` has a one-sided Wilson lower bound of ``bound`` or more.

    None when no number of items does: the rate is not above the bound.
    """
    if bound <= 0:
        return 1
    if rate <= bound:
        return None
    low, high = 0, 1
    while wilson_lower_bound(rate * high, high, confidence) < bound:
        low, high = high, high * 2
        if high > _LARGEST_N:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if wilson_lower_bound(rate * middle, middle, confidence) < bound:
            low = middle
        else:
            high = middle
    return high


def _wilson(successes: float, n: int, z: float) -> Interval:
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} items")
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # The ends are exact where arithmetic would leave a stray 1e-17.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact McNemar p-value from the counts of items that only one of two models got right.

    Raises:
        ValueError: a negative count.
    """
    discordant = only_first + only_second
    if min(only_first, only_second) < 0:
        raise ValueError("counts of discordant pairs cannot be negative")
    return min(1.0, 2 * binomial_cdf(min(only_first, only_second), discordant, 0.5))


def paired_score_interval(gained: float, lost: float, n: int, confidence: float = 0.95) -> Interval:
    """One-sided bounds, each at ``confidence``, of a paired difference of rates (Tango, Stat. Med. 1998).

    ``gained`` and ``lost`` are how much of the n items only the first and only the second got right; sums of
    the positive and of the negative differences for scores between 0 and 1. Unlike a bootstrap it stays wide
    when no pair disagrees: the lower bound is then -z^2 / (n + z^2).

    Raises:
        ValueError: n < 1, negative counts, or more disagreement than items.
    """
    if n < 1 or min(gained, lost) < 0 or gained + lost > n + 1e-9:
        raise ValueError(f"{gained} gained and {lost} lost of {n} items")
    z = normal_quantile(confidence)
    return Interval(_tango_lower(gained, lost, n, z), -_tango_lower(lost, gained, n, z))


def _tango_lower(gained: float, lost: float, n: int, z: float) -> float:
    estimate = (gained - lost) / n
    low, high = -1.0, estimate
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _tango_statistic(gained, lost, n, middle) > z:
            low = middle
        else:
            high = middle
    return low


def _tango_statistic(gained: float, lost: float, n: int, difference: float) -> float:
    a = 2 * n
    b = -gained - lost + (2 * n - gained + lost) * difference
    c = -lost * difference * (1 - difference)
    share_lost = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = n * (2 * share_lost + difference * (1 - difference))
    distance = gained - lost - n * difference
    if variance <= 1e-12:
        return 0.0 if abs(distance) < 1e-9 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def paired_bootstrap(
    differences: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """One-sided percentile bounds, each at ``confidence``, of a mean difference, resampling whole clusters.

    Items of one task are not independent of each other, so a task is drawn with all of its items.
    (Efron and Tibshirani 1993; Cameron, Gelbach and Miller 2008 for clusters.)

    Raises:
        ValueError: no items, or not one cluster label an item.
    """
    if not differences or len(differences) != len(clusters):
        raise ValueError(f"{len(differences)} differences with {len(clusters)} cluster labels")
    totals: dict[Hashable, tuple[float, int]] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        total, count = totals.get(cluster, (0.0, 0))
        totals[cluster] = (total + difference, count + 1)
    # Sorted, so that the order in which items were written down does not move the bound.
    groups = sorted(totals.values())
    generator = random.Random(seed)
    size = len(groups)
    if size == len(differences):
        # One item a cluster, the usual case: the same draws, a third of the time.
        sums = [total for total, _ in groups]
        means = [sum(generator.choices(sums, k=size)) / size for _ in range(resamples)]
    else:
        means = []
        for _ in range(resamples):
            drawn = generator.choices(groups, k=size)
            means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    tail = int((1 - confidence) * resamples)
    return Interval(means[tail], means[-1 - tail])


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedDifference:
    """Mean of first - second with bounds that hold for few items and for clustered ones.

    Each bound is the more cautious of the score interval, which keeps its width when all pairs agree, and of
    the clustered bootstrap, which knows that items of one task go together.

    Raises:
        ValueError: no items, sequences of different lengths, or scores outside of [0, 1].
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores against {len(second)}")
    if not all(0 <= score <= 1 for score in (*first, *second)):
        raise ValueError("scores must be between 0 and 1")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    bootstrap = paired_bootstrap(differences, clusters, confidence=confidence, seed=seed)
    n = len(differences)
    gained = math.fsum(difference for difference in differences if difference > 0)
    lost = -math.fsum(difference for difference in differences if difference < 0)
    score = paired_score_interval(gained, lost, n, confidence)
    return PairedDifference(
        n=n,
        clusters=len(set(clusters)),
        mean=(gained - lost) / n,
        low=min(score.low, bootstrap.low),
        high=max(score.high, bootstrap.high),
    )


def minimum_n_for_margin(
    margin: float, gained: float, lost: float, n: int, confidence: float = 0.95
) -> int | None:
    """The fewest items at which the same shares of gains and losses would prove a difference above -margin.

    None when no number of items would: the observed difference is not above -margin.
    """
    if (gained - lost) / n <= -margin:
        return None

    def proves(items: int) -> bool:
        scale = items / n
        return paired_score_interval(gained * scale, lost * scale, items, confidence).low >= -margin

    low, high = 0, 1
    while not proves(high):
        low, high = high, high * 2
        if high > _LARGEST_N:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proves(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def binomial_cdf(successes: int, n: int, rate: float) -> float:
    """P(X <= successes) for X ~ Binomial(n, rate), summed term by term in logarithms."""
    if successes < 0:
        return 0.0
    if successes >= n:
        return 1.0
    if rate in (0.0, 1.0):
        return 1.0 if rate == 0.0 else 0.0
    log_rate, log_rest, log_ways = math.log(rate), math.log1p(-rate), math.lgamma(n + 1)
    terms = (
        math.exp(log_ways - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_rate + (n - k) * log_rest)
        for k in range(successes + 1)
    )
    return min(1.0, math.fsum(terms))


def percentile(values: Sequence[float], fraction: float) -> float:
    """The smallest value with at least ``fraction`` of the values at or below it (nearest rank).

    Raises:
        ValueError: no values, or a fraction outside of (0, 1).
    """
    if not values or not 0 < fraction < 1:
        raise ValueError(f"no percentile {fraction} of {len(values)} values")
    # The small subtraction keeps 0.95 * 100 = 95.00000000000001 at rank 95.
    return sorted(values)[max(1, math.ceil(fraction * len(values) - 1e-9)) - 1]


def percentile_upper_bound(values: Sequence[float], fraction: float, confidence: float) -> float | None:
    """An upper confidence bound of a percentile from order statistics, free of any distribution.

    The k-th smallest of n values is at or above the percentile with probability P(Binomial(n, fraction) < k);
    the smallest such k is taken (David and Nagaraja, Order Statistics, 7.1). None: too few values for any.
    """
    n = len(values)
    for rank in range(max(1, math.floor(fraction * n)), n + 1):
        if binomial_cdf(rank - 1, n, fraction) >= confidence:
            return sorted(values)[rank - 1]
    return None


def percentile_lower_bound(values: Sequence[float], fraction: float, confidence: float) -> float | None:
    """A lower confidence bound of a percentile: the last k with P(Binomial(n, fraction) >= k) so large."""
    n = len(values)
    for rank in range(min(n, math.ceil(fraction * n) + 1), 0, -1):
        if 1 - binomial_cdf(rank - 1, n, fraction) >= confidence:
            return sorted(values)[rank - 1]
    return None


def minimum_n_for_percentile(fraction: float, confidence: float, over: int = 0) -> int:
    """The fewest queries that prove a percentile within a limit when ``over`` of them are over it.

    The rule of the MLPerf inference benchmark: 90 for P95 at 99% with none over, 130 with one, 398 with ten.
    """
    normal_quantile(confidence)
    if not 0 < fraction < 1 or over < 0:
        raise ValueError(f"no sample size for percentile {fraction} with {over} over")
    low, high = over, max(1, 2 * over)

    def proves(n: int) -> bool:
        return binomial_cdf(over, n, 1 - fraction) <= 1 - confidence + 1e-12

    while not proves(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proves(middle) else (middle, high)
    return high
