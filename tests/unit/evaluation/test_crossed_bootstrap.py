"""Intervals over seeds and clusters of items."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.evaluation import crossed_bootstrap
from hat.evaluation.crossed_bootstrap import Scored, Sums, clusters_of, difference, gap, rate, ratio

scores = st.lists(
    st.tuples(st.integers(0, 6), st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=2)),
    min_size=1,
    max_size=20,
)


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossed_bootstrap, "RESAMPLES", 200)


@settings(max_examples=40, deadline=None)
@given(scores, st.randoms(use_true_random=False))
def test_an_interval_holds_its_mean_and_does_not_hang_on_the_order_of_items(drawn, shuffled) -> None:
    items = [Scored((task,), tuple(values)) for task, values in drawn]
    found = rate(items)
    assert 0 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1
    assert (found.seeds, found.n, found.clusters) == (2, len(items), len({task for task, _ in drawn}))
    shuffled.shuffle(items)
    again = rate(items)
    assert math.isclose(again.low, found.low, abs_tol=1e-9)
    assert math.isclose(again.high, found.high, abs_tol=1e-9)


@settings(max_examples=40, deadline=None)
@given(scores)
def test_a_difference_with_itself_is_nothing_and_its_interval_is_not(drawn) -> None:
    found = difference([Scored((task,), (0.0, 0.0)) for task, _ in drawn])
    assert found.mean == 0
    assert found.low < 0 < found.high


@settings(max_examples=30, deadline=None)
@given(scores)
def test_a_difference_the_other_way_round_is_the_mirror_image(drawn) -> None:
    one = difference([Scored((task,), tuple(v - 0.5 for v in values)) for task, values in drawn])
    other = difference([Scored((task,), tuple(0.5 - v for v in values)) for task, values in drawn])
    assert math.isclose(one.mean, -other.mean, abs_tol=1e-12)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """200 simulated reproductions: 3 seeds that differ by 3 points, 40 states of 4 items that differ by 10."""
    draw, held = random.Random(1), 0
    for number in range(200):
        seeds = [draw.gauss(0, 0.03) for _ in range(3)]
        items = []
        for state in range(40):
            hard = draw.gauss(0, 0.1)
            for _ in range(4):
                items.append(Scored((state,), tuple(float(draw.random() < 0.6 + s + hard) for s in seeds)))
        found = rate(items, seed=number)
        held += found.low <= 0.6 <= found.high
    assert held / 200 >= 0.90


def test_items_of_one_state_count_as_less_than_independent_ones() -> None:
    apart = rate([Scored((number,), (float(number % 4 > 0),)) for number in range(80)])
    together = rate([Scored((number // 8,), (float(number // 8 % 4 > 0),)) for number in range(80)])
    assert together.high - together.low > 1.5 * (apart.high - apart.low)
    assert (apart.clusters, together.clusters) == (80, 10)


def test_seeds_that_disagree_widen_the_interval() -> None:
    same = rate([Scored((number,), (1.0, 0.0) if number % 2 else (0.0, 1.0)) for number in range(400)])
    apart = rate([Scored((number,), (1.0, 0.0)) for number in range(400)])
    assert same.mean == apart.mean == 0.5
    assert apart.high - apart.low > 3 * (same.high - same.low)


def test_weights_make_a_macro_average() -> None:
    many = [Scored((f"a{number}",), (1.0,), weight=1 / 90) for number in range(90)]
    few = [Scored((f"b{number}",), (0.0,), weight=1 / 10) for number in range(10)]
    assert rate([*many, *few]).mean == pytest.approx(0.5)
    assert difference([*many, *few]).mean == pytest.approx(0.5)


def test_a_gap_between_two_sets_of_items_is_wider_than_either() -> None:
    one = [Scored((f"a{number}",), (float(number % 10 > 0),)) for number in range(200)]
    other = [Scored((f"b{number}",), (float(number % 5 > 0),)) for number in range(200)]
    found = gap(one, other)
    assert found.mean == pytest.approx(0.1)
    assert 0.1 - 0.09 < found.low < 0.1 < found.high < 0.1 + 0.09
    with pytest.raises(ValueError, match="1 seeds against 2"):
        gap(one, [Scored(("c",), (1.0, 0.0))])


def test_a_ratio_weighs_what_is_counted_alike() -> None:
    found = ratio([Sums((1.0, 2.0), (1.0, 1.0)), Sums((0.0, 0.0), (9.0, 9.0))])
    assert found.mean == pytest.approx((0.1 + 0.2) / 2)
    assert (found.seeds, found.n) == (2, 2)
    assert found.low < found.mean < found.high


def test_what_shares_a_key_with_what_shares_a_key_is_one_cluster() -> None:
    clusters = clusters_of([("task 1",), ("task 1", "state 1"), ("state 1",), ("task 2",)])
    assert clusters[0] == clusters[1] == clusters[2] != clusters[3]


def test_items_that_not_every_seed_was_asked_are_refused() -> None:
    with pytest.raises(ValueError, match="numbers of seeds differ"):
        rate([Scored(("a",), (1.0,)), Scored(("b",), (1.0, 0.0))])
    with pytest.raises(ValueError, match="0 items"):
        rate([])
