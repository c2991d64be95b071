"""Slices: all are reported, those that the policy names can veto."""

import json

from hat.promotion.documents import Item
from hat.promotion.reasons import Outcome, ReasonCode
from tests.support.verdicts import CANDIDATE, PRODUCTION, SUITE, absolute, items, message_of, one


def test_slice_failure_names_the_slice_and_the_average_alone_would_pass(maker, judge):
    documents = maker.documents_of("slice-collapse")
    verdict = judge(documents)
    failed = [reason for reason in verdict.reasons if reason.outcome is Outcome.FAILED]
    assert [reason.metric for reason in failed] == ["live_stream_qa.accuracy[intent=returns]"]
    average = next(
        reason for reason in verdict.reasons if reason.metric == "live_stream_qa.accuracy vs production"
    )
    assert average.numbers["estimate"] > 0
    assert judge(documents, slices=()).word == "PASS"


def test_a_small_slice_is_reported_until_its_collapse_is_proven(maker, judge):
    documents = maker.sound()
    for role in (PRODUCTION, CANDIDATE):
        for item in items(documents, role)[40:49]:
            item["intent"] = "rare"
    verdict = judge(documents)
    rare = next(reason for reason in verdict.reasons if "rare" in reason.metric)
    assert rare.code is ReasonCode.REPORTED
    for item in items(documents)[40:49]:
        item["correct"] = 0
    maker.summarise(documents[CANDIDATE])
    for item in items(documents, PRODUCTION)[40:49]:
        item["correct"] = 1
    maker.summarise(documents[PRODUCTION])
    assert judge(documents).word == "FAIL"


def test_items_without_the_label_of_a_named_slice_are_inconclusive(maker, judge):
    documents = maker.sound()
    items(documents)[7]["intent"] = None
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert "1 of 60 items do not say their intent" in message_of(verdict, ReasonCode.MISSING_EVIDENCE)


def test_family_slices_come_from_the_harness_state(maker, judge):
    documents = maker.sound()
    for role in (PRODUCTION, CANDIDATE):
        for index, item in enumerate(items(documents, role)):
            item["state"] = {"families": ["T1", "S1"] if index % 2 else []}
    family = {"suite": SUITE, "metric": "accuracy", "by": "family", "against": "production"}
    family |= {"margin": 20, "minimum_n": 10}
    metrics = {reason.metric for reason in judge(documents, slices=(family,)).reasons}
    assert {"live_stream_qa.accuracy[family=T1]", "live_stream_qa.accuracy[family=S1]"} <= metrics


def test_a_skill_collapse_hides_from_average_and_intents(maker, judge):
    documents = maker.documents_of("skill-collapse")
    failed = [reason.metric for reason in judge(documents).reasons if reason.outcome is Outcome.FAILED]
    assert failed == [f"{SUITE}.accuracy[skill=returns-policy]"]
    by_skill = {"suite": SUITE, "metric": "accuracy", "by": "intent", "against": "production", "margin": 20}
    assert judge(documents, slices=(by_skill | {"minimum_n": 10},)).word == "PASS"


def test_a_slice_floor_holds_while_nothing_is_in_production(maker, judge):
    documents = maker.documents_of("no-production")
    chinese = [item for item in items(documents) if item["language"] == "zh"]
    for item in chinese[:8]:
        item["correct"] = 0
    maker.summarise(documents[CANDIDATE])
    verdict = judge(documents, absolute=(absolute(at_least=50),))
    assert verdict.word == "FAIL"
    assert one(verdict, f"{SUITE}.accuracy[language=zh]").code is ReasonCode.SLICE_BELOW_BAR
    assert one(verdict, f"{SUITE}.accuracy[language=en]").code is ReasonCode.MET


def test_every_slice_is_reported_with_an_interval_whether_it_decides_or_not(maker, judge):
    documents = maker.sound()
    for role in (CANDIDATE, PRODUCTION):
        for index, item in enumerate(items(documents, role)):
            item["state"] = {"families": ["T1"], "digest": f"state {index % 2}"} if index % 3 else "original"
    rows = {(row.by, row.slice): row for row in judge(documents).slices if row.suite == SUITE}
    assert {by for by, _ in rows} == {"intent", "skill", "language", "family", "harness"}
    assert ("harness", "state 0") in rows
    assert ("harness", "state 1") in rows
    for row in rows.values():
        assert 0 <= row.low <= row.accuracy <= row.high <= 100
        assert row.difference_low <= row.difference <= row.difference_high
        assert row.p_value <= row.p_adjusted <= 1
        json.dumps(row.to_json(), allow_nan=False)
    assert {by for (by, _), row in rows.items() if row.decides} == {"intent", "skill", "language"}
    alone = judge(maker.documents_of("no-production")).slices
    assert alone
    assert all(row.difference is None and row.p_adjusted is None for row in alone)


def test_a_held_out_harness_that_an_item_names_is_its_slice():
    item = Item(id="a", task_digest="t", harness="live-shop@2.0.0", state={"digest": "d", "families": ["T1"]})
    assert item.slices("harness") == ("live-shop@2.0.0",)
    assert Item(id="a", task_digest="t", state={"digest": "d", "families": []}).slices("harness") == ()


def test_more_slices_widen_the_bounds_of_each(maker, judge):
    documents = maker.sound()
    by_intent = {"suite": SUITE, "metric": "accuracy", "by": "intent", "against": "production"}
    by_intent |= {"margin": 20, "minimum_n": 10}
    metric = f"{SUITE}.accuracy[intent=price]"
    five = one(judge(documents, slices=(by_intent,)), metric)
    for role in (CANDIDATE, PRODUCTION):
        for item in items(documents, role):
            item["intent"] = "price" if item["intent"] == "price" else "other"
    two = one(judge(documents, slices=(by_intent,)), metric)
    assert (five.numbers["slices"], two.numbers["slices"]) == (5, 2)
    assert five.numbers["low"] < two.numbers["low"]
    assert five.numbers["high"] > two.numbers["high"]
