"""Geometry of the charts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.reporting.charts import distribution_plot, line_plot, nice_ticks
from hat.reporting.model import Curve, Latency, Percentile

finite = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@given(finite, finite)
def test_ticks_are_round_enclose_the_range_and_are_few(one, other):
    low, high = min(one, other), max(one, other)
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 8
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert ticks == sorted(set(ticks))


@given(st.lists(st.one_of(st.none(), finite), min_size=1, max_size=60))
def test_every_point_lies_inside_the_plot(values):
    plot = line_plot([Curve("loss", tuple(enumerate(values, start=1)))])
    if all(value is None for value in values):
        assert plot is None
        return
    pairs = [pair for piece in plot.lines[0].pieces for pair in piece.split()]
    assert len(pairs) == sum(value is not None for value in values)
    for pair in pairs:
        assert all(-0.001 <= float(number) <= 100.001 for number in pair.split(","))


def test_a_long_curve_gets_a_trailing_mean_and_a_short_one_does_not():
    long = line_plot([Curve("loss", tuple((step, float(step % 2)) for step in range(1, 121)))])
    assert long.window == 10
    assert long.lines[0].last == pytest.approx(0.5)
    short = line_plot([Curve("loss", ((1, 1.0), (2, 0.5)))])
    assert (short.window, short.lines[0].smooth) == (0, ())


def latency(counted, **changes):
    percentiles = (Percentile("P50", 1.0, 2.0, 4.0, "met"),)
    return Latency(
        **{
            "counted": counted,
            "warmup": (9.0,),
            "unanswered": 0,
            "percentiles": percentiles,
            "conditions": (),
        }
        | changes
    )


@given(st.lists(st.floats(min_value=0, max_value=1e4), min_size=1, max_size=50))
def test_the_distribution_rises_to_all_requests(counted):
    plot = distribution_plot(latency(tuple(counted)))
    heights = [float(pair.split(",")[1]) for pair in plot.steps.split()]
    assert heights[0] == 100
    assert heights[-1] == 0
    assert heights == sorted(heights, reverse=True)
    assert len(plot.dots) == len(counted)
    assert all(0 <= x <= 100 for x, _ in plot.warmup)


def test_limits_and_warm_up_fit_on_the_axis():
    plot = distribution_plot(latency((1.0,), percentiles=(Percentile("P90", 1.0, None, 20.0, "met"),)))
    assert plot.longest >= 20
    assert plot.place(20.0) <= 100
    assert math.isclose(plot.place(plot.longest / 2), 50)


def test_no_answered_request_gives_no_distribution():
    assert distribution_plot(latency(())) is None
