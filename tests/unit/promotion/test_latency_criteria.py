"""Latency limits: percentiles by order statistics, the load that was stated, first tokens, warm-up."""

import random

import pytest

from hat.promotion.documents import LatencyDocument, LatencyRequest
from hat.promotion.latency import seconds_of
from hat.promotion.load import in_flight, load_faults
from hat.promotion.reasons import ReasonCode
from tests.support.verdicts import message_of, one


def test_p95_of_forty_requests_says_how_many_are_needed(maker, judge):
    verdict = judge(maker.documents_of("forty-requests"))
    assert "needs at least 90" in message_of(verdict, ReasonCode.TOO_FEW_SAMPLES)


def test_a_stall_is_hidden_in_all_but_one_sample_when_counted_from_the_start_of_service(maker, judge):
    documents = maker.documents_of("stalled-server")
    requests = documents["latency.json"]["requests"]
    late = [seconds_of(LatencyRequest.model_validate(request)) > 0.4 for request in requests]
    assert sum(late) > 5
    for request in requests:
        request["scheduled"] = request["started"]
    assert judge(documents).word == "PASS"


def test_warm_up_is_shown_with_its_times_and_does_not_hide_a_fourth_slow_request(maker, judge):
    documents = maker.documents_of("first-three-slow")
    assert "2.30 s, 2.14 s, 2.73 s" in message_of(judge(documents), ReasonCode.WARMUP_EXCLUDED)
    slow = documents["latency.json"]["requests"][3]
    slow["finished"] = slow["scheduled"] + 2.5
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert "at least 130 requests" in message_of(verdict, ReasonCode.NOT_PROVEN)


@pytest.mark.parametrize("status", ["error", "timeout"])
def test_errors_and_timeouts_are_misses_even_among_the_first_requests(maker, judge, status):
    documents = maker.sound()
    for request in documents["latency.json"]["requests"][:20]:
        request["status"] = status
    verdict = judge(documents)
    assert verdict.word == "FAIL"
    assert "no answer" in message_of(verdict, ReasonCode.LATENCY_ABOVE_LIMIT)
    assert "20 of 100" in message_of(verdict, ReasonCode.LATENCY_ABOVE_LIMIT) or "20 of 103" in message_of(
        verdict, ReasonCode.LATENCY_ABOVE_LIMIT
    )


def test_latency_alone_is_no_cause_to_train(maker, judge):
    assert not judge(maker.documents_of("stalled-server")).calls_for_training


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

    draw, refused = random.Random(3), 0
    for _ in range(1000):
        clock, requests = 0.0, []
        for number in range(103):
            clock += draw.expovariate(10)
            requests.append({"id": str(number), "scheduled": clock, "status": "timeout"})
        stated = maker.latency() | {"requests": requests}
        refused += bool(load_faults(LatencyDocument.model_validate(stated)))
    assert refused <= 3
