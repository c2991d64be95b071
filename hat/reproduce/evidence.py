"""Answers questions about scores from the result files: a rate, a paired difference, a gap, each with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hat.evaluation import crossed_bootstrap as bootstrap
from hat.evaluation.crossed_bootstrap import Estimate, Scored, Sums
from hat.reproduce.arms import ARMS, BASE
from hat.reproduce.metrics import DIVERGENCE, GENERAL, METRICS, Metric, Scores
from hat.reproduce.results import Result

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Evidence:
    """The measurements that are there: (arm, seed, measurement) -> result."""

    measured: Mapping[tuple[str, int, str], Result]
    differing: set[str] = field(default_factory=set)
    """Sentences on items that one side of a comparison lacks."""

    def seeds(self, arm: str, metric: str) -> tuple[int, ...]:
        """The seeds of an arm that were measured."""
        name = METRICS[metric].measurement
        return tuple(
            sorted(seed for of_arm, seed, measured in self.measured if (of_arm, measured) == (arm, name))
        )

    def scores(self, arm: str, seed: int, metric: str) -> Scores:
        """The items' scores of one model."""
        found: Metric = METRICS[metric]
        return found.read(self.measured[arm, seed, found.measurement].rows)

    def seed_means(self, arm: str, metric: str) -> dict[int, float]:
        """Each seed's mean."""
        means = {}
        for seed in self.seeds(arm, metric):
            scores = self.scores(arm, seed, metric).values()
            weight = sum(score.weight for score in scores)
            if weight:
                means[seed] = sum(score.value * score.weight for score in scores) / weight
        return means

    def rate(self, arm: str, metric: str, confidence: float = CONFIDENCE) -> Estimate | None:
        """An arm's mean over its seeds; None where nothing is measured."""
        items = self._items(arm, metric, self.seeds(arm, metric))
        return bootstrap.rate(items, confidence=confidence) if items else None

    def difference(
        self, first: str, second: str, metric: str, confidence: float = CONFIDENCE
    ) -> Estimate | None:
        """First minus second, item by item and, where both arms are trained, seed by seed.

        None where the two share no seed. The base model has no seed: it stands beside each of the other's.
        """
        pairs = self._seed_pairs(first, second, metric)
        if not pairs:
            return None
        one = [self.scores(first, seed, metric) for seed, _ in pairs]
        other = [self.scores(second, seed, metric) for _, seed in pairs]
        names = self._shared([*one, *other], f"{METRICS[metric].title} of {first} and {second}")
        items = [
            Scored(
                one[0][name].keys,
                tuple(a[name].value - b[name].value for a, b in zip(one, other, strict=True)),
                one[0][name].weight,
            )
            for name in names
        ]
        return bootstrap.difference(items, confidence=confidence) if items else None

    def gap(
        self, arm: str, metric: str, other_metric: str, confidence: float = CONFIDENCE
    ) -> Estimate | None:
        """An arm's score on one metric minus that on another, over the seeds that have both."""
        seeds = [each for each in self.seeds(arm, metric) if each in self.seeds(arm, other_metric)]
        one, other = self._items(arm, metric, seeds), self._items(arm, other_metric, seeds)
        return bootstrap.gap(one, other, confidence=confidence) if one and other else None

    def retained(self, arm: str) -> Estimate | None:
        """Of the general prompts that the base passes, the share that an arm passes; None where one is missing."""
        if arm == BASE or not self.seeds(BASE, GENERAL):
            return None
        passed = {name for name, score in self.scores(BASE, 0, GENERAL).items() if score.value}
        scores = [self.scores(arm, seed, GENERAL) for seed in self.seeds(arm, GENERAL)]
        names = sorted(passed.intersection(*scores)) if scores else []
        items = [Scored(scores[0][name].keys, tuple(each[name].value for each in scores)) for name in names]
        return bootstrap.rate(items) if items else None

    def divergence(self, arm: str) -> Estimate | None:
        """Reverse KL to the base in nats a token, by `hat.evaluation.general_ability`; None where not measured."""
        seeds = sorted(
            seed for name, seed, measured in self.measured if (name, measured) == (arm, DIVERGENCE)
        )
        rows = [{row["id"]: row for row in self.measured[arm, seed, DIVERGENCE].rows} for seed in seeds]
        if not rows:
            return None
        names = [name for name in rows[0] if all(name in each for each in rows)]
        return bootstrap.ratio(
            [
                Sums(
                    tuple(each[name]["reverse_kl"] for each in rows),
                    tuple(each[name]["tokens"] for each in rows),
                )
                for name in names
            ]
        )

    def by_kind(self, arm: str, metric: str) -> dict[str, float]:
        """Mean accuracy by kind of item over all seeds, such as by harness version."""
        kinds: dict[str, list[float]] = {}
        for seed in self.seeds(arm, metric):
            for row in self.measured[arm, seed, METRICS[metric].measurement].rows:
                if row["correct"] is not None:
                    kinds.setdefault(str(row.get("kind", "")), []).append(row["correct"])
        return {kind: sum(values) / len(values) for kind, values in kinds.items()}

    def _items(self, arm: str, metric: str, seeds: Sequence[int]) -> list[Scored]:
        scores = [self.scores(arm, seed, metric) for seed in seeds]
        if not scores:
            return []
        names = self._shared(scores, f"{METRICS[metric].title} of {arm}")
        return [
            Scored(scores[0][name].keys, tuple(each[name].value for each in scores), scores[0][name].weight)
            for name in names
        ]

    def _shared(self, scores: Sequence[Scores], what: str) -> list[str]:
        """The names of the items that all have, in their order; those that not all have are told."""
        everyone = {name for each in scores for name in each}
        names = [name for name in scores[0] if all(name in each for each in scores)]
        if len(names) < len(everyone):
            self.differing.add(f"{what}: {len(names)} of {len(everyone)} items are common to all and counted")
        return names

    def _seed_pairs(self, first: str, second: str, metric: str) -> list[tuple[int, int]]:
        one, other = self.seeds(first, metric), self.seeds(second, metric)
        if not one or not other:
            return []
        if BASE in (first, second):
            return [
                (one[0] if first == BASE else seed, other[0] if second == BASE else seed)
                for seed in (other if first == BASE else one)
            ]
        return [(seed, seed) for seed in one if seed in other]


def arms_in(results: Sequence[Result]) -> list[str]:
    """The arms that were measured, in the order of the table of arms."""
    there = {result.header.name for result in results if result.header.kind == "evaluate"}
    return [name for name in ARMS if name in there]
