"""What a run's report shows, as plain values: filled by `hat.reporting.collect`, drawn by `render`.

Rates are fractions in [0, 1]; times are seconds. Texts may come from models or harness files: all untrusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ROLES = ("base", "production", "candidate")
Role = str
"""One of `ROLES`."""


@dataclass(frozen=True)
class ReasonLine:
    """One finding of the verdict."""

    outcome: Literal["failed", "unproven", "met", "noted"]
    code: str
    metric: str
    message: str
    is_slice: bool = False
    """Whether it is about part of a suite."""


@dataclass(frozen=True)
class Score:
    """One model's result on one suite."""

    n: int
    accuracy: float
    low: float
    high: float
    metrics: Mapping[str, float]
    """Other rates by name, e.g. ``parse_rate``; only those that were measured."""


@dataclass(frozen=True)
class Suite:
    """One evaluation set with the models that were tried on it."""

    name: str
    title: str
    explanation: str
    scores: Mapping[Role, Score]
    reference: float | None
    """What needs no model scores: the regex baseline, or the best floor."""
    reference_name: str
    bar: float | None
    """What the gate's lower bound must reach."""
    origin: str = ""
    """Where its items come from, where they are not real: e.g. ``simulated``."""
    notes: tuple[str, ...] = ()
    """What a reader must know: items left out, a token cap."""


@dataclass(frozen=True)
class Slice:
    """Accuracy on part of a suite: model -> (right, of)."""

    suite: str
    key: str
    value: str
    counts: Mapping[Role, tuple[int, int]]


@dataclass(frozen=True)
class Curve:
    """One line over training steps; ``None`` where a step's number was not finite or not logged."""

    name: str
    points: tuple[tuple[int, float | None], ...]


@dataclass(frozen=True)
class TrainingStage:
    """One stage's logged numbers, or why it did not train."""

    name: str
    title: str
    axis: str
    curves: tuple[Curve, ...]
    steps: int
    seconds: float
    skipped: str = ""


@dataclass(frozen=True)
class Percentile:
    """One latency percentile against its limit."""

    name: str
    estimate: float | None
    upper: float | None
    """Upper confidence bound."""
    limit: float | None
    outcome: str


@dataclass(frozen=True)
class Latency:
    """Times from scheduled send to complete reply."""

    counted: tuple[float, ...]
    warmup: tuple[float, ...]
    """Left out of the percentiles, shown as such."""
    unanswered: int
    percentiles: tuple[Percentile, ...]
    conditions: tuple[tuple[str, str], ...]
    """Engine, hardware, load: name and value."""


@dataclass(frozen=True)
class Failure:
    """One item that the model got wrong."""

    suite: str
    id: str
    model: Role
    intent: str
    question: str
    calls: tuple[str, ...]
    """As the model wrote them, in the names it was shown."""
    reply: str
    end: str
    expected: tuple[str, ...]
    """Gold facts, or the instructions that were not followed."""


@dataclass(frozen=True)
class Step:
    """One step of the pipeline."""

    name: str
    status: str
    seconds: float
    reason: str


@dataclass(frozen=True)
class Fact:
    """A name and a value for a table; ``title`` explains it."""

    name: str
    value: str
    title: str = ""


@dataclass(frozen=True)
class RunReport:
    """Everything that the report of one run shows."""

    run: str
    harness: str
    version: str
    verdict: Literal["PASS", "FAIL", "INCONCLUSIVE"] | None
    status: str
    summary: str
    """One sentence: what happened."""
    error: str
    reasons: tuple[ReasonLine, ...] = ()
    facts: tuple[Fact, ...] = ()
    """When, where and how it ran."""
    suites: tuple[Suite, ...] = ()
    slices: tuple[Slice, ...] = ()
    data: tuple[Fact, ...] = ()
    """Trajectories that were made, accepted and rejected."""
    training: tuple[TrainingStage, ...] = ()
    latency: Latency | None = None
    failures: tuple[Failure, ...] = ()
    failures_total: Mapping[str, int] = field(default_factory=dict)
    """Suite -> how many items the shown model got wrong."""
    steps: tuple[Step, ...] = ()
    digests: tuple[Fact, ...] = ()
    synthetic: tuple[str, ...] = ()
    """What in this report is simulated or made by rule."""
    missing: tuple[str, ...] = ()
    """What could not be found or read."""
