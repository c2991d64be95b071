"""Geometry of the report's charts: data in, percentages of the plot's width and height out.

Percentages let the browser stretch a plot to any screen while its text keeps its size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hat.reporting.model import Curve, Latency

SMOOTHED_FROM = 30
"""Points from which a curve gets a trailing mean beside its raw line."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: its place in percent and its label."""

    place: float
    label: str


@dataclass(frozen=True)
class Line:
    """One line of a plot: SVG points in a 100 by 100 box, one text for each unbroken piece."""

    name: str
    pieces: tuple[str, ...]
    smooth: tuple[str, ...]
    """The trailing mean; empty where the raw line is short enough to read."""
    last: float | None
    number: int
    """Place in the legend, which chooses the colour."""


@dataclass(frozen=True)
class LinePlot:
    """Lines over training steps."""

    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    window: int
    """Points of the trailing mean; 0 when there is none."""


@dataclass(frozen=True)
class DistributionPlot:
    """The share of requests answered within a time."""

    steps: str
    """SVG points of the empirical distribution in a 100 by 100 box."""
    dots: tuple[tuple[float, float, float], ...]
    """(x, y, seconds) of counted requests."""
    warmup: tuple[tuple[float, float], ...]
    """(x, seconds) of warm-up requests."""
    x_ticks: tuple[Tick, ...]
    longest: float

    def place(self, seconds: float) -> float:
        """Where a time lies on the horizontal axis, in percent."""
        return round(100 * min(seconds, self.longest) / self.longest, 3)


def line_plot(curves: Sequence[Curve]) -> LinePlot | None:
    """The plot of a stage's curves; None when there is no finite point."""
    values = [value for curve in curves for _, value in curve.points if value is not None]
    steps = [step for curve in curves for step, _ in curve.points]
    if not values:
        return None
    y_marks = nice_ticks(min(*values, 0.0), max(*values, 0.0))
    low, high = y_marks[0], y_marks[-1]
    first, last = min(steps), max(steps)
    longest = max(len(curve.points) for curve in curves)
    window = max(5, longest // 12) if longest >= SMOOTHED_FROM else 0

    def x(step: float) -> float:
        return 50.0 if last == first else 100 * (step - first) / (last - first)

    def y(value: float) -> float:
        return 100 - 100 * (value - low) / (high - low)

    def draw(points: Sequence[tuple[int, float | None]]) -> tuple[str, ...]:
        return _pieces([(x(step), None if value is None else y(value)) for step, value in points])

    lines = tuple(
        Line(
            name=curve.name,
            pieces=draw(curve.points),
            smooth=draw(_trailing(curve, window)) if window else (),
            last=_last(_trailing(curve, max(window, 1))),
            number=number,
        )
        for number, curve in enumerate(curves)
    )
    marks = sorted({first, round((first + last) / 2), last})
    return LinePlot(
        lines=lines,
        x_ticks=tuple(Tick(x(mark), str(mark)) for mark in marks),
        y_ticks=tuple(Tick(y(mark), f"{mark:g}") for mark in y_marks),
        window=window,
    )


def distribution_plot(latency: Latency) -> DistributionPlot | None:
    """The plot of counted times; None when no request was answered."""
    counted = sorted(latency.counted)
    bounds = (value for each in latency.percentiles for value in (each.limit, each.upper))
    limits = [value for value in bounds if value is not None]
    if not counted:
        return None
    marks = nice_ticks(0.0, max(*counted, *latency.warmup, *limits, 1e-6))
    longest = marks[-1]
    n = len(counted)
    points, dots = ["0,100"], []
    for rank, seconds in enumerate(counted, start=1):
        x = 100 * seconds / longest
        points += [f"{x:.3f},{100 - 100 * (rank - 1) / n:.3f}", f"{x:.3f},{100 - 100 * rank / n:.3f}"]
        dots.append((round(x, 3), round(100 - 100 * rank / n, 3), seconds))
    points.append("100,0")
    return DistributionPlot(
        steps=" ".join(points),
        dots=tuple(dots),
        warmup=tuple((round(100 * seconds / longest, 3), seconds) for seconds in latency.warmup),
        x_ticks=tuple(Tick(100 * mark / longest, f"{mark:g} s") for mark in marks),
        longest=longest,
    )


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers that enclose ``low`` to ``high``, at most ``most`` + 2 of them, at equal distances."""
    span = high - low
    size = max(abs(low), abs(high))
    if span <= 1e-9 * max(1.0, size):  # nothing to tell apart at the precision of the labels
        low, high = low - 0.5 * max(1.0, size), high + 0.5 * max(1.0, size)
        span = high - low
    rough = span / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    unit = next(
        factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough * (1 - 1e-9)
    )
    first, last = math.floor(low / unit + 1e-9), math.ceil(high / unit - 1e-9)
    return [round(index * unit, 12) for index in range(first, last + 1)]


def _trailing(curve: Curve, window: int) -> list[tuple[int, float | None]]:
    """Mean of each point and the ``window`` - 1 before it; steps without a number are passed over."""
    means: list[tuple[int, float | None]] = []
    recent: list[float] = []
    for step, value in curve.points:
        if value is not None:
            recent = [*recent, value][-window:]
        means.append((step, sum(recent) / len(recent) if recent and value is not None else None))
    return means


def _last(points: Sequence[tuple[int, float | None]]) -> float | None:
    return next((value for _, value in reversed(points) if value is not None), None)


def _pieces(points: Sequence[tuple[float, float | None]]) -> tuple[str, ...]:
    """SVG point lists, broken where a number is missing."""
    pieces: list[list[str]] = [[]]
    for x, y in points:
        if y is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{x:.3f},{y:.3f}")
    return tuple(" ".join(piece) for piece in pieces if piece)
