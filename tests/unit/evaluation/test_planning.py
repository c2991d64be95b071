"""Power, detectable effects, corrections for many tests and the effect of seeds."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, false_discovery_control, norm

from hat.evaluation.planning import (
    design_effect,
    detectable_margin,
    detectable_rate,
    disagreement,
    holm,
    pairs_for_margin,
    seed_effect,
    shared_confidence,
)
from hat.evaluation.statistics import paired_score_interval, wilson_lower_bound

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_independent_items_have_no_design_effect_and_copies_multiply_it():
    draw = random.Random(1)
    values = [draw.choice((-1.0, 0.0, 1.0)) for _ in range(300)]
    assert design_effect([1.0] * 10, list(range(10))) == 1
    assert design_effect(values, list(range(300))) == pytest.approx(1)
    copies = [value for value in values for _ in range(4)]
    assert design_effect(copies, [index // 4 for index in range(1200)]) == pytest.approx(4)


@pytest.mark.parametrize(("margin", "pairs"), [(0.20, 31), (0.10, 124), (0.03, 1374)])
def test_pairs_for_a_margin_are_those_of_the_textbook_formula(margin, pairs):
    assert pairs_for_margin(margin, 0.2) == pairs
    factor = norm.ppf(0.95) + norm.ppf(0.8)
    assert pairs == math.ceil(0.2 * (factor / margin) ** 2)


def test_no_pairs_prove_a_margin_of_nothing_and_agreement_does_not_make_a_tiny_sample_enough():
    assert pairs_for_margin(0, 0.2) is None
    least = pairs_for_margin(0.063, 0)
    assert paired_score_interval(0, 0, least).low >= -0.063
    assert paired_score_interval(0, 0, least - 1).low < -0.063


@given(st.integers(20, 3000), st.floats(0.05, 0.6))
def test_the_detectable_margin_and_the_pairs_it_needs_agree(n, share):
    needed = pairs_for_margin(detectable_margin(n, share), share)
    assert needed is not None
    assert needed <= n + 1


def test_equal_models_prove_the_detectable_margin_about_as_often_as_the_power_says():
    draw, n, share = random.Random(4), 300, 0.2
    margin = detectable_margin(n, share)
    proven = 0
    for _ in range(600):
        signs = [draw.random() for _ in range(n)]
        gained = sum(sign < share / 2 for sign in signs)
        lost = sum(share / 2 <= sign < share for sign in signs)
        proven += paired_score_interval(gained, lost, n).low >= -margin
    assert 0.74 < proven / 600 < 0.86


@given(st.floats(0.3, 0.9), st.integers(30, 400))
def test_the_detectable_rate_reaches_the_bar_with_the_stated_power(bar, n):
    rate = detectable_rate(bar, n)
    if rate is None:
        assert wilson_lower_bound(n, n) < bar
        return
    wanted = next(right for right in range(n + 1) if wilson_lower_bound(right, n) >= bar - 1e-12)
    assert binom.sf(wanted - 1, n, rate) == pytest.approx(0.8, abs=1e-6)


@given(p_values)
def test_holm_is_monotone_bounded_and_between_raw_and_bonferroni(values):
    adjusted = holm(values)
    for raw, one in zip(values, adjusted, strict=True):
        assert raw <= one <= min(1.0, raw * len(values)) + 1e-12
    pairs = sorted(zip(values, adjusted, strict=True))
    assert [one for _, one in pairs] == sorted(one for _, one in pairs)


def test_holm_of_a_textbook_example():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert max(false_discovery_control([0.01, 0.04, 0.03])) <= max(holm([0.01, 0.04, 0.03]))


def test_holm_keeps_the_chance_of_any_false_alarm():
    draw = random.Random(2)
    alarms = sum(min(holm([draw.random() for _ in range(12)])) <= 0.05 for _ in range(4000))
    assert alarms / 4000 < 0.062


def test_several_bounds_share_one_error():
    assert shared_confidence(0.95, 1) == pytest.approx(0.95)
    assert shared_confidence(0.95, 10) == pytest.approx(0.995)
    with pytest.raises(ValueError, match="0 tests"):
        shared_confidence(0.95, 0)


def test_seeds_are_summed_up_with_their_worst():
    effect = seed_effect([0.8, 0.7, 0.6], 100)
    assert (effect.seeds, effect.worst, effect.best) == (3, 0.6, 0.8)
    assert effect.mean == pytest.approx(0.7)
    assert effect.deviation == pytest.approx(0.1)
    assert effect.expected_deviation == pytest.approx(math.sqrt(0.21 / 100))
    assert seed_effect([0.5], 10).deviation == 0


def test_disagreement_is_never_zero():
    assert disagreement(0, 0, 40) == pytest.approx(1 / 42)
    assert disagreement(3, 5, 38) == pytest.approx(9 / 40)


@pytest.mark.parametrize(
    "call",
    [
        lambda: design_effect([], []),
        lambda: detectable_margin(0, 0.2),
        lambda: detectable_margin(10, 1.2),
        lambda: pairs_for_margin(0.1, -0.1),
        lambda: detectable_rate(0.5, 10, power=1.0),
        lambda: holm([1.2]),
        lambda: seed_effect([], 10),
        lambda: seed_effect([1.5], 10),
    ],
)
def test_impossible_samples_are_refused(call):
    with pytest.raises(ValueError, match=r"confidence|between|clusters|pairs|labels|rates|disagrees"):
        call()
