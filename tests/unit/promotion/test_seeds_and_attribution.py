"""The effect of the training seed, and which of model and harness moved the score."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.promotion.reasons import ReasonCode
from tests.support.verdicts import CANDIDATE, PRODUCTION, SUITE, one


def seeds(maker, **wrong):
    documents = maker.sound()
    for name, numbers in wrong.items():
        documents[f"evaluation/seeds/{name}.json"] = maker.evaluation(name, set(numbers))
    return documents


SEEDS = ({"suite": SUITE, "metric": "accuracy", "at_least": 70, "minimum_seeds": 3},)


def test_three_trainings_that_all_reach_the_bar_are_met_with_their_spread(maker, judge):
    verdict = judge(seeds(maker, a=range(6), b=range(12)), seeds=SEEDS)
    assert verdict.word == "PASS"
    reason = one(verdict, f"{SUITE}.accuracy over seeds")
    assert (reason.numbers["worst"], reason.numbers["best"], reason.numbers["seeds"]) == (80, 90, 3)
    assert reason.numbers["deviation"] == pytest.approx(5.7735, abs=1e-3)


def test_too_few_seeds_are_inconclusive_and_say_how_many(maker, judge):
    reason = one(judge(seeds(maker, a=range(6)), seeds=SEEDS), f"{SUITE}.accuracy over seeds")
    assert reason.code is ReasonCode.TOO_FEW_SAMPLES
    assert "needs at least 3 trainings, has 2" in reason.message


def test_seeds_that_are_the_same_model_or_were_asked_otherwise_do_not_count(maker, judge):
    metric = f"{SUITE}.accuracy over seeds"
    copied = seeds(maker, a=range(6), b=range(6))
    copied["evaluation/seeds/b.json"]["model_digest"] = copied[CANDIDATE]["model_digest"]
    assert one(judge(copied, seeds=SEEDS), metric).code is ReasonCode.INCONSISTENT
    elsewhere = seeds(maker, a=range(6), b=range(6))
    elsewhere["evaluation/seeds/b.json"]["harness_digest"] = "another"
    assert one(judge(elsewhere, seeds=SEEDS), metric).code is ReasonCode.HARNESS_MISMATCH
    other = seeds(maker, a=range(6), b=range(6))
    other["evaluation/seeds/b.json"]["suites"][SUITE]["items"][0]["task_digest"] = "another"
    assert one(judge(other, seeds=SEEDS), metric).code is ReasonCode.MISMATCHED_ITEMS
    absent = seeds(maker, a=range(6), b=range(6))
    del absent["evaluation/seeds/b.json"]["suites"][SUITE]
    assert one(judge(absent, seeds=SEEDS), metric).code is ReasonCode.MISSING_EVIDENCE


def test_the_attribution_divides_the_whole_change_and_never_decides(maker, judge):
    documents = maker.documents_of("harness-moved-it")
    verdict = judge(documents)
    assert verdict.word == "PASS"
    table = verdict.attribution
    assert table.n == 60
    assert table.cells == pytest.approx(
        {
            "old_model_old_harness": 80,
            "old_model_new_harness": 100 * 52 / 60,
            "new_model_old_harness": 100 * 49 / 60,
            "new_model_new_harness": 90,
        }
    )
    effects = {name: effect[0] for name, effect in table.effects.items()}
    assert effects["total"] == pytest.approx(effects["model"] + effects["harness"]) == pytest.approx(10)
    assert effects["harness"] > effects["model"]
    for estimate, low, high in table.effects.values():
        assert low <= estimate <= high
    json.dumps(verdict.to_json(), allow_nan=False)


@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_model_and_harness_always_add_up_to_the_whole(maker, judge, data):
    documents = maker.documents_of("harness-moved-it")
    for name in (CANDIDATE, PRODUCTION, "attribution/candidate.json", "attribution/production.json"):
        wrong = data.draw(st.sets(st.integers(0, 59), max_size=40))
        for index, item in enumerate(documents[name]["suites"][SUITE]["items"]):
            item["correct"] = int(index not in wrong)
        maker.summarise(documents[name])
    effects = {name: effect[0] for name, effect in judge(documents).attribution.effects.items()}
    assert effects["total"] == pytest.approx(effects["model"] + effects["harness"], abs=1e-9)


def test_in_a_screen_only_the_harness_can_have_moved_the_score(maker, judge):
    documents = maker.documents_of("harness-moved-it")
    screening = maker.documents_of("screening")
    previous = documents["subject.json"]["previous_harness"]
    screening["subject.json"]["previous_harness"] = previous
    screening["attribution/production.json"] = documents["attribution/production.json"]
    table = judge(screening).attribution
    assert set(table.effects) == {"total", "harness"}
    assert table.effects["harness"] == table.effects["total"]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lambda d: d.pop("attribution/candidate.json"), "new_model_old_harness was not measured"),
        (lambda d: d["attribution/candidate.json"].update(harness_digest="x"), "under another harness"),
        (lambda d: d["attribution/production.json"].update(model_digest="x"), "on another model"),
        (lambda d: d["attribution/production.json"].update(suites={}), "not evaluated"),
        (
            lambda d: [
                item.update(task_digest=f"other {index}")
                for index, item in enumerate(d["attribution/production.json"]["suites"][SUITE]["items"])
            ],
            "no task in common",
        ),
    ],
)
def test_an_attribution_that_cannot_be_made_says_why_and_does_not_decide(maker, judge, fault, said):
    documents = maker.documents_of("harness-moved-it")
    fault(documents)
    verdict = judge(documents)
    assert verdict.word == "PASS"
    assert verdict.attribution is None
    assert said in one(verdict, "attribution").message
