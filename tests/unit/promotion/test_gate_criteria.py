"""What the policy may ask beyond bars and margins: soft criteria, floors, slices, seeds, attribution, load."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.evaluation.statistics import mcnemar_exact
from hat.promotion.documents import Item, LatencyDocument
from hat.promotion.load import in_flight, load_faults
from hat.promotion.reasons import Outcome, ReasonCode

CANDIDATE, PRODUCTION = "evaluation/candidate.json", "evaluation/production.json"
SUITE = "live_stream_qa"


def items(documents, role=CANDIDATE):
    return documents[role]["suites"][SUITE]["items"]


def found(verdict, metric):
    return [reason for reason in verdict.reasons if reason.metric == metric]


def one(verdict, metric):
    (reason,) = found(verdict, metric)
    return reason


def absolute(**changes):
    return {"suite": SUITE, "metric": "accuracy", "at_least": 70, "minimum_n": 60} | changes


def test_a_soft_criterion_is_reported_and_never_decides(maker, judge):
    documents = maker.sound()
    hard = judge(documents, absolute=(absolute(at_least=92),))
    assert hard.word == "FAIL"
    soft = judge(documents, absolute=(absolute(at_least=92, severity="soft"), absolute()))
    assert soft.word == "PASS"
    missed = next(reason for reason in soft.reasons if reason.soft)
    assert (missed.code, missed.outcome) == (ReasonCode.BELOW_BAR, Outcome.NOTED)
    assert missed.to_json()["soft"] is True
    assert not soft.calls_for_training


def test_soft_slices_limits_and_comparisons_never_decide_either(maker, judge):
    slices = maker.documents_of("slice-collapse")
    by_intent = {"suite": SUITE, "metric": "accuracy", "by": "intent", "against": "production", "margin": 20}
    assert judge(slices, slices=(by_intent | {"minimum_n": 10, "severity": "soft"},)).word == "PASS"
    slow = maker.documents_of("slow-first-token")
    limits = ({"measure": "first_token", "percentile": 50, "milliseconds": 80, "severity": "soft"},)
    load = {"arrival": "poisson", "rate": 10, "limits": limits}
    assert judge(slow, latency=load).word == "PASS"


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


def closed_loop(*times, concurrency):
    requests = [
        {"id": str(index), "scheduled": begin, "finished": end, "status": "ok"}
        for index, (begin, end) in enumerate(times)
    ]
    stated = {"schema_version": 1, "engine": "e", "hardware": "h", "shared_device": False}
    stated |= {"arrival": "closed-loop", "concurrency": concurrency, "requests": requests}
    return LatencyDocument.model_validate(stated)


def test_a_closed_loop_may_not_overlap_more_than_it_states():
    document = closed_loop((0, 1), (1.0001, 2), (2.0, 3.5), concurrency=1)
    assert in_flight(document) == 1
    assert load_faults(document) == []
    overlapping = closed_loop((0, 1), (0.5, 2), (0.7, 3.5), concurrency=2)
    assert in_flight(overlapping) == 3
    assert "3 in flight at once, stated are 2" in load_faults(overlapping)[0].message


def without_first_token(request):
    del request["first_token"]


def first_token_is_no_number(request):
    request["first_token"] = float("nan")


def first_token_after_the_end(request):
    request["first_token"] = request["finished"] + 1


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (without_first_token, ReasonCode.MISSING_EVIDENCE),
        (first_token_is_no_number, ReasonCode.NOT_A_NUMBER),
        (first_token_after_the_end, ReasonCode.INCONSISTENT),
    ],
)
def test_unfit_times_of_the_first_token_unprove_only_the_limits_about_them(maker, judge, fault, code):
    documents = maker.sound()
    fault(documents["latency.json"]["requests"][50])
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert one(verdict, "latency.first_token").code is code
    assert one(verdict, "latency.p95").code is ReasonCode.MET
    limits = [{"percentile": 50, "milliseconds": 300}]
    for added in ([], [{"measure": "first_token", "severity": "soft", **limits[0]}]):
        load = {"arrival": "poisson", "rate": 10, "limits": limits + added}
        assert judge(documents, latency=load).word == "PASS"


def test_the_first_token_of_an_answer_that_failed_is_a_miss(maker, judge):
    documents = maker.sound()
    for request in documents["latency.json"]["requests"][:60]:
        request |= {"status": "error", "finished": None}
    reason = one(judge(documents), "latency.first_token.p50")
    assert reason.code is ReasonCode.LATENCY_ABOVE_LIMIT


def test_an_open_loop_may_also_state_how_many_are_answered_at_once(maker, judge):
    load = {"arrival": "poisson", "rate": 10, "concurrency": 8}
    load["limits"] = ({"percentile": 50, "milliseconds": 300},)
    documents = maker.sound()
    assert judge(documents, latency=load).word == "INCONCLUSIVE"
    documents["latency.json"]["concurrency"] = 8
    assert judge(documents, latency=load).word == "PASS"
    documents["latency.json"]["concurrency"] = 16
    assert "16 answered at once" in one(judge(documents, latency=load), "latency.load").message


@pytest.mark.parametrize("key", ["model_digest", "harness_digest"])
def test_times_that_do_not_say_what_was_timed_are_inconclusive(maker, judge, key):
    documents = maker.sound()
    del documents["latency.json"][key]
    assert judge(documents).word == "INCONCLUSIVE"


def test_honest_poisson_arrivals_are_hardly_ever_refused(maker):
    import random

    draw, refused = random.Random(3), 0
    for _ in range(1000):
        clock, requests = 0.0, []
        for number in range(103):
            clock += draw.expovariate(10)
            requests.append({"id": str(number), "scheduled": clock, "status": "timeout"})
        stated = maker.latency() | {"requests": requests}
        refused += bool(load_faults(LatencyDocument.model_validate(stated)))
    assert refused <= 3


def test_a_trained_model_without_any_training_item_is_inconclusive(maker, judge):
    documents = maker.sound()
    documents["training_items.json"]["task_digests"] = []
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert "no item is recorded" in one(verdict, "leakage").message


def test_an_item_without_a_content_digest_cannot_be_cleared_of_leakage(maker, judge):
    documents = maker.sound()
    for role in (CANDIDATE, PRODUCTION):
        items(documents, role)[0]["task_digest"] = ""
    assert judge(documents).word == "INCONCLUSIVE"
