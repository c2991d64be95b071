"""Intervals of scores that several training seeds got on the same items, where items come in clusters.

Two things were drawn: seeds, and clusters of items. Every seed answers the same items, so the two are crossed: a hard
item is hard for all seeds. Resampling seeds and, once for all of them, clusters keeps that (the pigeonhole bootstrap,
Owen, Annals of Applied Statistics 2007; seeds are the outer level); drawing items anew within each seed would average
the luck of the items away. Pure functions on numbers, standard library only.
"""

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from hat.evaluation.statistics import Interval, paired_score_interval, wilson_interval

RESAMPLES = 2000


@dataclass(frozen=True)
class Scored:
    """One item as every seed was asked it."""

    keys: tuple[Hashable, ...]
    """What it shares with others, such as its task and its harness state: items that share any go together."""
    values: tuple[float, ...]
    """Its score by seed, in [0, 1]; of a difference, in [-1, 1]."""
    weight: float = 1.0
    """Its part of the mean."""


@dataclass(frozen=True)
class Estimate:
    """A weighted mean over seeds and items, with a two-sided interval."""

    mean: float
    low: float
    high: float
    seeds: int
    n: int
    """Items; each was asked of every seed."""
    clusters: int


def rate(items: Sequence[Scored], *, confidence: float = 0.95, seed: int = 0) -> Estimate:
    """A mean score. Each end is the more cautious of the bootstrap's and Wilson's on the items' means over seeds.

    Raises:
        ValueError: no items, or not one value a seed.
    """
    estimate = _bootstrapped(items, confidence, seed)
    wilson = wilson_interval(min(1.0, max(0.0, estimate.mean)) * len(items), len(items), confidence)
    return _wider(estimate, wilson)


def difference(items: Sequence[Scored], *, confidence: float = 0.95, seed: int = 0) -> Estimate:
    """A mean paired difference; ``values`` are first minus second.

    Each end is the more cautious of the bootstrap's and Tango's score interval, which keeps its width where all agree.

    Raises:
        ValueError: no items, or not one value a seed.
    """
    estimate = _bootstrapped(items, confidence, seed)
    total = sum(item.weight for item in items)
    n = len(items)
    means = [(sum(item.values) / len(item.values), item.weight * n / total) for item in items]
    gained = sum(weight * mean for mean, weight in means if mean > 0)
    lost = -sum(weight * mean for mean, weight in means if mean < 0)
    return _wider(estimate, paired_score_interval(gained, lost, n, (1 + confidence) / 2))


def gap(
    first: Sequence[Scored], second: Sequence[Scored], *, confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """A mean of ``first`` minus one of ``second``, which are other items of the same seeds; a two-sided interval.

    Each end is the more cautious of the bootstrap's, which draws the seeds once for both, and Newcombe's hybrid of two
    Wilson intervals (Statistics in Medicine 1998, method 10).

    Raises:
        ValueError: no items, or other numbers of seeds.
    """
    one, other = _Clustered(first), _Clustered(second)
    if one.seeds != other.seeds:
        raise ValueError(f"{one.seeds} seeds against {other.seeds}")
    rng = random.Random(seed)
    draws = []
    for _ in range(RESAMPLES):
        drawn = one.draw_seeds(rng)
        draws.append(one.resampled(rng, drawn) - other.resampled(rng, drawn))
    ends = _ends(draws, confidence)
    a, b = one.mean, other.mean
    x = wilson_interval(a * one.n, one.n, confidence)
    y = wilson_interval(b * other.n, other.n, confidence)
    low = (a - b) - ((a - x.low) ** 2 + (y.high - b) ** 2) ** 0.5
    high = (a - b) + ((x.high - a) ** 2 + (b - y.low) ** 2) ** 0.5
    estimate = Estimate(a - b, ends.low, ends.high, one.seeds, one.n + other.n, one.size + other.size)
    return _wider(estimate, Interval(low, high))


@dataclass(frozen=True)
class Sums:
    """One item's total and count under every seed, such as divergence and tokens of a reply."""

    totals: tuple[float, ...]
    counts: tuple[float, ...]


def ratio(items: Sequence[Sums], *, confidence: float = 0.95, seed: int = 0) -> Estimate:
    """The mean over seeds of a ratio of sums, with a bootstrap interval; items are independent of each other.

    Raises:
        ValueError: no items, or not one total a seed.
    """
    if not items or len({len(item.totals) for item in items}) != 1 or not items[0].totals:
        raise ValueError(f"{len(items)} items, whose numbers of seeds differ or are 0")
    seeds, rng = range(len(items[0].totals)), random.Random(seed)

    def mean(drawn: Sequence[Sums], of_seeds: Sequence[int]) -> float:
        ratios = {
            each: sum(item.totals[each] for item in drawn) / sum(item.counts[each] for item in drawn)
            for each in set(of_seeds)
        }
        return sum(ratios[each] for each in of_seeds) / len(of_seeds)

    draws = [
        mean(rng.choices(items, k=len(items)), rng.choices(seeds, k=len(seeds))) for _ in range(RESAMPLES)
    ]
    ends = _ends(draws, confidence)
    return Estimate(mean(items, seeds), ends.low, ends.high, len(seeds), len(items), len(items))


def _bootstrapped(items: Sequence[Scored], confidence: float, seed: int) -> Estimate:
    clustered = _Clustered(items)
    rng = random.Random(seed)
    draws = [clustered.resampled(rng, clustered.draw_seeds(rng)) for _ in range(RESAMPLES)]
    ends = _ends(draws, confidence)
    return Estimate(
        clustered.mean, ends.low, ends.high, clustered.seeds, clustered.n, clusters=clustered.size
    )


class _Clustered:
    """Sums by cluster and seed, from which a resample is a few additions a cluster."""

    def __init__(self, items: Sequence[Scored]) -> None:
        if not items or len({len(item.values) for item in items}) != 1 or not items[0].values:
            raise ValueError(f"{len(items)} items, whose numbers of seeds differ or are 0")
        self.seeds, self.n = len(items[0].values), len(items)
        sums: dict[int, list[float]] = {}
        weights: dict[int, float] = {}
        for item, cluster in zip(items, clusters_of([item.keys for item in items]), strict=True):
            of_cluster = sums.setdefault(cluster, [0.0] * self.seeds)
            for index, value in enumerate(item.values):
                of_cluster[index] += item.weight * value
            weights[cluster] = weights.get(cluster, 0.0) + item.weight
        # Sorted, so that the order in which items were written down does not move the interval.
        self._groups = sorted((tuple(sums[cluster]), weights[cluster]) for cluster in sums)
        self.size = len(self._groups)
        self._equal = len({round(weight, 12) for _, weight in self._groups}) == 1
        self._by_draw: dict[tuple[int, ...], list[tuple[float, float]]] = {}
        self.mean = _mean(self._combined(tuple(range(self.seeds))))

    def draw_seeds(self, rng: random.Random) -> tuple[int, ...]:
        """As many seeds as there are, with replacement."""
        return tuple(sorted(rng.choices(range(self.seeds), k=self.seeds)))

    def resampled(self, rng: random.Random, seeds: tuple[int, ...]) -> float:
        """The mean over drawn seeds and freshly drawn clusters."""
        return _mean(rng.choices(self._combined(seeds), k=self.size), equal=self._equal)

    def _combined(self, seeds: tuple[int, ...]) -> list[tuple[float, float]]:
        """(mean over the drawn seeds of the sum, weight) of each cluster."""
        if seeds not in self._by_draw:
            counts = Counter(seeds)
            self._by_draw[seeds] = [
                (sum(count * sums[index] for index, count in counts.items()) / len(seeds), weight)
                for sums, weight in self._groups
            ]
        return self._by_draw[seeds]


def _mean(groups: Sequence[tuple[float, float]], equal: bool = False) -> float:
    # With equal weights, the usual case, one sum fewer: half the time.
    weight = groups[0][1] * len(groups) if equal else sum(weight for _, weight in groups)
    return sum(map(itemgetter(0), groups)) / weight


def clusters_of(keys: Sequence[Sequence[Hashable]]) -> list[int]:
    """The cluster of each item: items that share a key, directly or through others, are in one."""
    parent = list(range(len(keys)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    seen: dict[Hashable, int] = {}
    for index, of_item in enumerate(keys):
        for key in of_item:
            parent[root(index)] = root(seen.setdefault(key, index))
    return [root(index) for index in range(len(keys))]


def _ends(draws: list[float], confidence: float) -> Interval:
    draws = sorted(draws)
    tail = int((1 - confidence) / 2 * len(draws))
    return Interval(draws[tail], draws[-1 - tail])


def _wider(estimate: Estimate, other: Interval) -> Estimate:
    return Estimate(
        estimate.mean,
        min(estimate.low, other.low),
        max(estimate.high, other.high),
        estimate.seeds,
        estimate.n,
        estimate.clusters,
    )
