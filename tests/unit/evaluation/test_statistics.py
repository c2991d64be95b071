"""Statistics against SciPy, published values and the properties that the gate relies on."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.evaluation import statistics

stats = pytest.importorskip("scipy.stats", reason="SciPy is the reference these are held to")

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
confidences = st.floats(0.5, 0.999)


@given(counts, confidences)
def test_wilson_interval_is_scipys(count, confidence):
    successes, n = count
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    interval = statistics.wilson_interval(successes, n, confidence)
    assert interval.low == pytest.approx(expected.low, abs=1e-9)
    assert interval.high == pytest.approx(expected.high, abs=1e-9)


@given(counts)
def test_one_sided_bounds_are_those_of_the_interval_at_twice_the_error(count):
    interval = statistics.wilson_interval(*count, 0.90)
    assert statistics.wilson_lower_bound(*count, 0.95) == pytest.approx(interval.low)
    assert statistics.wilson_upper_bound(*count, 0.95) == pytest.approx(interval.high)


@given(counts, confidences)
def test_wilson_lower_bound_rises_with_successes_and_falls_with_failures(count, confidence):
    successes, n = count
    bound = statistics.wilson_lower_bound(successes, n, confidence)
    assert statistics.wilson_lower_bound(successes, n + 1, confidence) <= bound + 1e-12
    assert statistics.wilson_lower_bound(successes + 1, n + 1, confidence) >= bound - 1e-12
    assert bound <= successes / n + 1e-12


@given(st.floats(0.01, 0.95), st.floats(0.01, 1.0))
def test_minimum_n_for_rate_is_the_first_that_proves_it(bound, rate):
    needed = statistics.minimum_n_for_rate(bound, rate)
    if needed is None:
        assert rate <= bound or statistics.wilson_lower_bound(rate * 10_000_000, 10_000_000) < bound
        return
    assert statistics.wilson_lower_bound(rate * needed, needed) >= bound
    if needed > 1:
        assert statistics.wilson_lower_bound(rate * (needed - 1), needed - 1) < bound


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(ValueError, match="successes in"):
        statistics.wilson_interval(successes, n)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(gained, lost):
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert statistics.mcnemar_exact(gained, lost) == pytest.approx(expected, abs=1e-12)


def test_paired_score_interval_keeps_its_width_when_all_pairs_agree():
    z = statistics.normal_quantile(0.95)
    interval = statistics.paired_score_interval(0, 0, 40, 0.95)
    assert interval.low == pytest.approx(-z * z / (40 + z * z))
    assert interval.high == pytest.approx(z * z / (40 + z * z))


@given(st.integers(1, 120).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))))
def test_paired_score_interval_inverts_the_score_test(counts):
    """At each bound the score statistic, recomputed with a maximised likelihood, is the normal quantile."""
    gained, lost, n = counts
    if gained + lost > n:
        return
    z = statistics.normal_quantile(0.95)
    low = statistics.paired_score_interval(gained, lost, n, 0.95).low
    if low <= -1 + 1e-9 or low >= 1 - 1e-9:
        return
    shares = [index / 20_000 for index in range(1, 20_000)]
    feasible = [share for share in shares if share + low > 0 and 2 * share + low < 1]
    if not feasible:
        return

    def likelihood(share):
        agree = 1 - 2 * share - low
        return gained * math.log(share + low) + lost * math.log(share) + (n - gained - lost) * math.log(agree)

    share = max(feasible, key=likelihood)
    if share in (feasible[0], feasible[-1]):
        return  # the maximum is at the edge of the grid: no interior solution to compare with
    variance = n * (2 * share + low * (1 - low))
    assert (gained - lost - n * low) / math.sqrt(variance) == pytest.approx(z, abs=0.02)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=60))
def test_turning_a_right_item_wrong_never_raises_the_paired_bounds(pairs):
    first, second = [list(scores) for scores in zip(*pairs, strict=True)]
    clusters = list(range(len(pairs)))
    before = statistics.paired_difference(first, second, clusters)
    if 1 not in first:
        return
    first[first.index(1)] = 0
    after = statistics.paired_difference(first, second, clusters)
    assert after.mean < before.mean
    assert after.low <= before.low + 1e-9
    assert after.high <= before.high + 1e-9


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=40))
def test_paired_difference_does_not_depend_on_the_order_of_items(rows):
    shuffled = rows.copy()
    random.Random(0).shuffle(shuffled)
    one, other = (
        statistics.paired_difference(*map(list, zip(*order, strict=True))) for order in (rows, shuffled)
    )
    assert one.mean == pytest.approx(other.mean)
    assert one.low == pytest.approx(other.low)
    assert one.high == pytest.approx(other.high)


def test_items_of_one_task_do_not_count_as_independent():
    first = [1] * 80 + [0] * 20
    second = [1] * 80 + [1] * 20
    apart = statistics.paired_difference(first, second, list(range(100)))
    together = statistics.paired_difference(first, second, [index // 20 for index in range(100)])
    assert together.clusters == 5
    assert together.low < apart.low - 0.1


def test_paired_difference_covers_the_truth_as_often_as_it_says():
    """Lower bound at 95% on simulated pairs: it may lie above the true difference in about 5% of samples."""
    generator = random.Random(11)
    missed, samples = 0, 120
    for _ in range(samples):
        draws = [generator.random() for _ in range(80)]
        first = [int(draw >= 0.15) for draw in draws]  # gains in 5%, losses in 15%: the truth is -0.10
        second = [int(draw >= 0.20 or draw < 0.15) for draw in draws]
        missed += statistics.paired_difference(first, second, list(range(80))).low > -0.10
    assert missed / samples <= 0.09


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.02, 0.5))
def test_minimum_n_for_margin_is_the_first_that_proves_it(gained, lost, margin):
    needed = statistics.minimum_n_for_margin(margin, gained, lost, 100)
    if needed is None:
        assert (gained - lost) / 100 <= -margin + 1e-6
        return

    def proves(n):
        return statistics.paired_score_interval(gained * n / 100, lost * n / 100, n).low >= -margin

    assert proves(needed)
    assert needed == 1 or not proves(needed - 1)


@given(st.integers(0, 300), st.integers(1, 300), st.floats(0.001, 0.999))
def test_binomial_cdf_is_scipys(successes, n, rate):
    assert statistics.binomial_cdf(successes, n, rate) == pytest.approx(
        stats.binom.cdf(successes, n, rate), abs=1e-9
    )


@pytest.mark.parametrize(
    ("fraction", "confidence", "over", "needed"),
    [
        (0.95, 0.99, 0, 90),  # the first three are the MLPerf inference rules' own examples
        (0.95, 0.99, 1, 130),
        (0.95, 0.99, 10, 398),
        (0.90, 0.95, 0, 29),
        (0.90, 0.95, 1, 46),
        (0.50, 0.95, 0, 5),
    ],
)
def test_queries_needed_for_a_percentile(fraction, confidence, over, needed):
    assert statistics.minimum_n_for_percentile(fraction, confidence, over) == needed


@given(st.integers(0, 5), st.sampled_from([0.5, 0.9, 0.95]), st.sampled_from([0.9, 0.95, 0.99]))
def test_percentile_bound_and_sample_size_agree(over, fraction, confidence):
    """With ``over`` slow queries the bound is fast from exactly the stated number of queries on."""
    needed = statistics.minimum_n_for_percentile(fraction, confidence, over)
    enough = [1.0] * (needed - over) + [9.0] * over
    assert statistics.percentile_upper_bound(enough, fraction, confidence) == 1.0
    assert statistics.percentile_upper_bound(enough[1:], fraction, confidence) in (None, 9.0)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.95]))
def test_percentile_bounds_enclose_the_percentile(values, fraction):
    estimate = statistics.percentile(values, fraction)
    upper = statistics.percentile_upper_bound(values, fraction, 0.95)
    lower = statistics.percentile_lower_bound(values, fraction, 0.95)
    assert upper is None or upper >= estimate
    assert lower is None or lower <= estimate


def test_percentile_bounds_hold_as_often_as_they_say():
    generator = random.Random(5)
    truth = -math.log(1 - 0.9)
    samples = [[generator.expovariate(1) for _ in range(60)] for _ in range(2000)]
    above = sum(statistics.percentile_upper_bound(sample, 0.9, 0.95) < truth for sample in samples)
    below = sum(statistics.percentile_lower_bound(sample, 0.9, 0.95) > truth for sample in samples)
    assert above / 2000 <= 0.06
    assert below / 2000 <= 0.06


def test_percentile_is_the_nearest_rank():
    values = list(range(1, 101))
    assert statistics.percentile(values, 0.95) == 95
    assert statistics.percentile(values, 0.5) == 50
    assert statistics.percentile([7.0], 0.9) == 7.0
