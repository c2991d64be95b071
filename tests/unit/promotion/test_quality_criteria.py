"""Bars and comparisons: bounds, refusals, what a sample could show."""

import pytest

from hat.evaluation.statistics import mcnemar_exact
from hat.promotion.reasons import ReasonCode
from tests.support.verdicts import CANDIDATE, PRODUCTION, SUITE, codes, items, message_of, one


def test_too_few_items_cannot_pass_but_can_fail_when_the_failure_is_proven(maker, judge):
    documents = maker.documents_of("no-production")
    del items(documents)[40:]
    maker.summarise(documents[CANDIDATE])
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert "needs at least 60 items, has 40" in message_of(verdict, ReasonCode.TOO_FEW_SAMPLES)
    for item in items(documents):
        item["correct"] = 0
    maker.summarise(documents[CANDIDATE])
    assert judge(documents).word == "FAIL"


def with_accuracy(maker, right):
    documents = maker.documents_of("no-production")
    for index, item in enumerate(items(documents)):
        item["correct"] = int(index < right)
    maker.summarise(documents[CANDIDATE])
    return documents


def test_the_bar_is_held_by_the_lower_bound_and_the_gap_says_how_many_items_would_prove_it(maker, judge):
    """Of 60 items at a bar of 70: 48 have a lower bound of 70.3, 47 of 68.5; 41 are below it themselves."""
    assert judge(with_accuracy(maker, 48)).word == "PASS"
    unproven = judge(with_accuracy(maker, 47))
    assert unproven.word == "INCONCLUSIVE"
    assert "items would prove it" in message_of(unproven, ReasonCode.NOT_PROVEN)
    assert unproven.calls_for_training
    below = judge(with_accuracy(maker, 41))
    assert below.word == "FAIL"
    assert "BELOW_BAR" in codes(below)
    assert below.calls_for_training


def test_a_veto_fails_on_a_loss_beyond_its_margin_and_proves_nothing_else(maker, judge):
    documents = maker.sound()
    documents["evaluation/base.json"] = maker.evaluation("base", set())
    veto = {
        "suite": SUITE, "metric": "accuracy", "against": "base", "margin": 11, "rule": "veto", "minimum_n": 60
    }  # fmt: skip
    assert judge(documents, relative=(veto,)).word == "PASS"
    assert judge(documents, relative=({**veto, "rule": "proof", "margin": 11},)).word == "INCONCLUSIVE"
    assert judge(documents, relative=({**veto, "margin": 9},)).word == "FAIL"


def test_of_suites_that_ask_the_same_the_first_evaluated_counts(maker, judge):
    documents = maker.sound()
    either = {"metric": "accuracy", "against": "production", "margin": 12, "rule": "proof", "minimum_n": 60}
    verdict = judge(documents, relative=({**either, "suite": ("absent", SUITE)},))
    assert verdict.word == "PASS"
    assert f"{SUITE}.accuracy vs production" in {reason.metric for reason in verdict.reasons}
    absent = judge(documents, relative=({**either, "suite": ("absent", "other")},))
    assert "not evaluated on absent" in message_of(absent, ReasonCode.MISSING_EVIDENCE)


@pytest.mark.parametrize(("refused", "word"), [(0, "PASS"), (4, "INCONCLUSIVE"), (8, "FAIL")])
def test_over_refusal_is_held_by_its_upper_bound(maker, judge, refused, word):
    documents = maker.sound()
    answerable = [item for item in items(documents) if item["answerable"]]
    for item in answerable[:refused]:
        item["refused"] = 1
    verdict = judge(documents)
    assert verdict.word == word
    reason = one(verdict, f"{SUITE}.over_refusal_rate")
    assert reason.numbers["n"] == len(answerable) == 48
    assert reason.numbers["estimate"] == pytest.approx(100 * refused / 48)
    assert reason.numbers["low"] <= reason.numbers["estimate"] <= reason.numbers["high"]
    assert "asked at most 15" in reason.message


def test_refusal_is_measured_on_what_must_be_declined_only(maker, judge):
    documents = maker.sound()
    for item in items(documents):
        if item["answerable"]:
            item["refused"] = 0
    assert one(judge(documents), f"{SUITE}.refusal_rate").numbers["n"] == 12


def test_refusals_of_items_that_do_not_say_whether_they_can_be_answered_are_inconclusive(maker, judge):
    documents = maker.sound()
    del items(documents)[2]["answerable"]
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert one(verdict, f"{SUITE}.refusal_rate").code is ReasonCode.MISSING_EVIDENCE


def test_a_suite_without_anything_to_decline_is_empty_not_perfect(maker, judge):
    documents = maker.sound()
    for item in items(documents):
        item["answerable"] = True
    assert one(judge(documents), f"{SUITE}.refusal_rate").code is ReasonCode.EMPTY


def test_a_relative_over_refusal_counts_more_refusals_as_a_loss(maker, judge):
    documents = maker.sound()
    for item in [item for item in items(documents) if item["answerable"]][:12]:
        item["refused"] = 1
    more = {"suite": SUITE, "metric": "over_refusal_rate", "against": "production", "margin": 15}
    verdict = judge(documents, relative=(more | {"rule": "veto", "minimum_n": 40},))
    reason = one(verdict, f"{SUITE}.over_refusal_rate vs production")
    assert reason.code is ReasonCode.REGRESSION
    assert reason.numbers["estimate"] == pytest.approx(-25)


def test_a_comparison_tells_mcnemar_and_what_it_could_have_detected(maker, judge):
    reason = one(judge(maker.sound()), f"{SUITE}.accuracy vs production")
    assert (reason.numbers["gained"], reason.numbers["lost"]) == (3, 1)
    assert reason.numbers["p_value"] == pytest.approx(mcnemar_exact(3, 1))
    assert 5 < reason.numbers["detectable"] < 12
    assert reason.numbers["power"] == 0.8
    assert reason.numbers["design_effect"] == 1


def test_items_of_one_task_make_the_detectable_loss_larger(maker, judge):
    documents = maker.sound()
    metric = f"{SUITE}.accuracy vs production"
    apart = one(judge(documents), metric)
    for role in (CANDIDATE, PRODUCTION):
        for index, item in enumerate(items(documents, role)):
            item["task_digest"] = f"task {index // 12}"
            item["correct"] = int(role == CANDIDATE or index >= 12)
        maker.summarise(documents[role])
    together = one(judge(documents), metric)
    assert together.numbers["clusters"] == 5
    assert together.numbers["design_effect"] > 5
    assert together.numbers["detectable"] > 2 * apart.numbers["detectable"]


def test_a_margin_too_tight_for_the_sample_says_how_many_pairs_it_takes(maker, judge):
    tight = {"suite": SUITE, "metric": "accuracy", "against": "production", "margin": 6, "rule": "proof"}
    documents = maker.sound()
    for role, wrong in ((CANDIDATE, range(6)), (PRODUCTION, range(3, 9))):
        for index, item in enumerate(items(documents, role)):
            item["correct"] = int(index not in wrong)
        maker.summarise(documents[role])
    reason = one(judge(documents, relative=(tight | {"minimum_n": 60},)), f"{SUITE}.accuracy vs production")
    assert reason.code is ReasonCode.NOT_PROVEN
    assert reason.numbers["planned_n"] > 60
    assert f"the margin takes {reason.numbers['planned_n']} if the models are equal" in reason.message
