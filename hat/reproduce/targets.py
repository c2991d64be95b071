"""The bars that the reproduction is held against, each met, missed or not measured. Rates are fractions here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from hat.evaluation.crossed_bootstrap import Estimate
from hat.reproduce.arms import ARMS
from hat.reproduce.evidence import Evidence
from hat.reproduce.metrics import (
    EVOLUTION,
    GENERAL,
    LIVE_STREAM,
    METRICS,
    ROBUSTNESS,
    TWINS,
    UNSEEN,
    VARIANTS,
)

Outcome = Literal["met", "missed", "not measured"]
ONE_SIDED = 0.90
"""Confidence of two-sided intervals whose ends are one-sided bounds at 95%."""


@dataclass(frozen=True)
class Target:
    """One bar."""

    what: str
    bar: str
    measured: str
    """In words; what is missing where it is not measured."""
    outcome: Outcome


def check_targets(evidence: Evidence) -> list[Target]:
    """All targets on quality, in the order of the paper's claim."""
    variants = next((name for name in VARIANTS if evidence.seeds("hat", name)), VARIANTS[0])
    return [
        *_own_harness(evidence),
        *_other_harness(evidence, variants),
        *_twins(evidence),
        *_general_ability(evidence),
        *_distillation(evidence, variants),
        *_reinforcement(evidence, variants),
        *_evolution(evidence),
    ]


def _own_harness(evidence: Evidence) -> Iterator[Target]:
    yield _rate(evidence, "fixed_sft", LIVE_STREAM, "at least 85", lambda found: found.mean >= 0.85)
    yield _rate(evidence, "hat", LIVE_STREAM, "at least 85, aim 90", lambda found: found.mean >= 0.85)


def _other_harness(evidence: Evidence, variants: str) -> Iterator[Target]:
    yield _rate(evidence, "fixed_sft", variants, "at most 30 (collapse)", lambda found: found.mean <= 0.30)
    yield _rate(evidence, "hat", variants, "at least 80", lambda found: found.mean >= 0.80)
    gap = evidence.gap("hat", LIVE_STREAM, variants, ONE_SIDED)
    yield _judged(
        f"HAT: {METRICS[LIVE_STREAM].title} minus {METRICS[variants].title}",
        "at most 4, upper 95% bound at most 7",
        gap,
        lambda found: found.mean <= 0.04 and found.high <= 0.07,
        "one-sided upper bound",
    )
    yield _rate(evidence, "hat", UNSEEN, "at least 40", lambda found: found.mean >= 0.40)
    yield _difference(
        evidence, "hat", "fixed_sft", UNSEEN, "at least 20 above", lambda found: found.mean >= 0.20
    )


def _twins(evidence: Evidence) -> Iterator[Target]:
    yield _judged(
        f"HAT: {METRICS[TWINS].title}",
        "lower 95% bound at least 45",
        evidence.rate("hat", TWINS, ONE_SIDED),
        lambda found: found.low >= 0.45,
        "one-sided lower bound",
    )


def _general_ability(evidence: Evidence) -> Iterator[Target]:
    yield _judged(
        f"HAT minus base: {METRICS[GENERAL].title}",
        "not below by more than 5 (lower 95% bound)",
        evidence.difference("hat", "base", GENERAL, ONE_SIDED),
        lambda found: found.low >= -0.05,
        "one-sided lower bound",
    )
    yield _difference(
        evidence, "fixed_sft", "base", GENERAL, "a fall, interval below 0", lambda found: found.high < 0
    )


def _distillation(evidence: Evidence, variants: str) -> Iterator[Target]:
    pair = ("fixed_opd", "fixed_sft")
    yield _difference(evidence, *pair, GENERAL, "at least +6", lambda found: found.mean >= 0.06)
    for metric in (LIVE_STREAM, variants):
        yield _difference(evidence, *pair, metric, "a loss of at most 2", lambda found: found.mean >= -0.02)
    what, bar = "fixed SFT + OPD: reverse KL to the base", "at most half of fixed SFT's"
    after, before = evidence.divergence("fixed_opd"), evidence.divergence("fixed_sft")
    if after is None or before is None:
        yield Target(what, bar, "–", "not measured")
    else:
        said = f"{after.mean:.3f} against {before.mean:.3f} nats a token"
        yield Target(what, bar, said, "met" if after.mean <= before.mean / 2 else "missed")


def _reinforcement(evidence: Evidence, variants: str) -> Iterator[Target]:
    pair = ("hat", "compute_matched")
    yield _difference(evidence, *pair, ROBUSTNESS, "at least +8", lambda found: found.mean >= 0.08)
    for metric in (LIVE_STREAM, variants):
        yield _judged(
            f"HAT minus {ARMS[pair[1]].title}: {METRICS[metric].title}",
            "not below by more than 3 (lower 95% bound)",
            evidence.difference(*pair, metric, ONE_SIDED),
            lambda found: found.low >= -0.03,
            "one-sided lower bound",
        )


def _evolution(evidence: Evidence) -> Iterator[Target]:
    yield _difference(
        evidence,
        "hat",
        "fixed_sft",
        EVOLUTION,
        "at least +15, interval above 0",
        lambda found: found.mean >= 0.15 and found.low > 0,
    )
    what, bar = "HAT: fixed SFT's errors under later versions removed", "at least half"
    fixed, hat = evidence.rate("fixed_sft", EVOLUTION), evidence.rate("hat", EVOLUTION)
    if fixed is None or hat is None or fixed.mean == 1:
        yield Target(what, bar, "needs evolution of HAT and fixed SFT", "not measured")
    else:
        removed = 1 - (1 - hat.mean) / (1 - fixed.mean)
        yield Target(what, bar, points(removed) + "%", "met" if removed >= 0.5 else "missed")
    what, bar = "HAT: worst later version", "T1 minus 8 or better"
    versions, own = evidence.by_kind("hat", EVOLUTION), evidence.rate("hat", LIVE_STREAM)
    if not versions or own is None:
        yield Target(what, bar, "needs evolution and T1 of HAT", "not measured")
    else:
        worst = min(versions, key=lambda version: versions[version])
        said = f"{points(versions[worst])} ({worst}), T1 {points(own.mean)}"
        yield Target(what, bar, said, "met" if versions[worst] >= own.mean - 0.08 - 1e-9 else "missed")


def _rate(evidence: Evidence, arm: str, metric: str, bar: str, holds: Callable[[Estimate], bool]) -> Target:
    return _judged(f"{ARMS[arm].title}: {METRICS[metric].title}", bar, evidence.rate(arm, metric), holds)


def _difference(
    evidence: Evidence, first: str, second: str, metric: str, bar: str, holds: Callable[[Estimate], bool]
) -> Target:
    what = f"{ARMS[first].title} minus {ARMS[second].title}: {METRICS[metric].title}"
    return _judged(what, bar, evidence.difference(first, second, metric), holds)


def _judged(
    what: str, bar: str, found: Estimate | None, holds: Callable[[Estimate], bool], bound: str = ""
) -> Target:
    if found is None:
        return Target(what, bar, "–", "not measured")
    said = in_points(found) if not bound else f"{points(found.mean)} ({bound} {_bound(found, bound)})"
    return Target(what, bar, said, "met" if holds(found) else "missed")


def _bound(found: Estimate, bound: str) -> str:
    return points(found.high if "upper" in bound else found.low)


def points(share: float) -> str:
    """A fraction in points."""
    return f"{100 * share:.1f}"


def in_points(found: Estimate) -> str:
    """An estimate in points: mean, interval, seeds and items."""
    seeds = "1 seed" if found.seeds == 1 else f"{found.seeds} seeds"
    return f"{points(found.mean)} ({points(found.low)} to {points(found.high)}; {seeds} x {found.n})"
