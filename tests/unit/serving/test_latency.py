"""Latency evidence of a real, tiny model: complete, in the gate's terms, and with nothing computed twice."""

import itertools
import json
from pathlib import Path

import pytest

from hat.agent.episode import Episode
from hat.agent.policies.local import LocalPolicy
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.promotion.documents import EvidenceSubject, LatencyDocument, SubjectModels
from hat.promotion.latency import latency_reasons
from hat.promotion.policy import LatencyPolicy, PercentileLimit, Policy
from hat.promotion.reasons import ReasonCode
from hat.serving.config import LatencyConfig
from hat.serving.latency import measure_latency

SETTINGS = LatencyConfig(max_new_tokens=6)


def subject(harness: Harness) -> EvidenceSubject:
    return EvidenceSubject(
        schema_version=1,
        environment="tiny",
        harness=harness.name,
        version=harness.version,
        harness_digest=harness.digest,
        models=SubjectModels(candidate="a" * 64),
        ledger_head=0,
        engine="transformers",
        hardware="cpu",
        training_items=None,
    )


def gate(latency: LatencyPolicy) -> Policy:
    return Policy.model_validate(
        {
            "description": "for a test",
            "engines": ["transformers"],
            "hardware": ["cpu"],
            "absolute": [{"suite": "live_stream_qa", "metric": "accuracy", "at_least": 0, "minimum_n": 1}],
            "latency": latency.model_dump(),
        }
    )


def asked(arrival: str = "closed-loop", milliseconds: float = 600_000) -> LatencyPolicy:
    load = {"concurrency": 1} if arrival == "closed-loop" else {"rate": 5.0}
    return LatencyPolicy.model_validate(
        {
            "arrival": arrival,
            **load,
            "warmup_requests": 2,
            "shared_device": True,
            "limits": [{"percentile": 50, "milliseconds": milliseconds, "confidence": 0.95}],
        }
    )


@pytest.mark.parametrize("arrival", ["closed-loop", "poisson"])
def test_the_gate_accepts_the_evidence_for_the_load_it_asked_for(
    tiny_model: Path, harness: Harness, arrival: str
) -> None:
    policy = asked(arrival)
    done: list[tuple[int, int]] = []
    document = measure_latency(
        tiny_model,
        harness,
        get_domain("live_shop"),
        policy,
        SETTINGS,
        model_digest="a" * 64,
        progress=lambda count, total: done.append((count, total)),
    )
    json.dumps(document, allow_nan=False)
    reasons = latency_reasons(gate(policy), LatencyDocument.model_validate(document), subject(harness))
    assert [reason.code for reason in reasons] == [ReasonCode.MET, ReasonCode.WARMUP_EXCLUDED]
    assert reasons[0].numbers["n"] == 5
    assert done == [(count, 7) for count in range(1, 8)]
    assert document["prefix_cached"] is True
    assert document["model_digest"] == "a" * 64
    for request in document["requests"]:
        assert request["scheduled"] <= request["started"] < request["first_token"] < request["finished"]
        turns = request["turn_first_tokens"]
        assert turns == sorted(turns)
        assert turns[0] == request["first_token"]
        assert turns[-1] < request["finished"]
        assert request["status"] == "ok"
        assert len(turns) <= request["output_tokens"] <= 6 * len(turns)


def test_one_at_a_time_means_that_no_two_overlap(tiny_model: Path, harness: Harness) -> None:
    document = measure_latency(tiny_model, harness, get_domain("live_shop"), asked(), SETTINGS)
    requests = document["requests"]
    for earlier, later in itertools.pairwise(requests):
        assert earlier["finished"] <= later["scheduled"]


def test_a_slow_model_does_not_pass(tiny_model: Path, harness: Harness) -> None:
    policy = asked(milliseconds=0.001)
    document = measure_latency(
        tiny_model, harness, get_domain("live_shop"), policy, SETTINGS, model_digest="a" * 64
    )
    reasons = latency_reasons(gate(policy), LatencyDocument.model_validate(document), subject(harness))
    codes = {reason.code for reason in reasons}
    assert ReasonCode.LATENCY_ABOVE_LIMIT in codes


def test_too_late_is_a_timeout_and_the_next_question_is_still_asked(
    tiny_model: Path, harness: Harness
) -> None:
    settings = SETTINGS.model_copy(update={"timeout_seconds": 1e-6})
    document = measure_latency(tiny_model, harness, get_domain("live_shop"), asked(), settings)
    assert [request["status"] for request in document["requests"]] == ["timeout"] * 7
    assert all(request["finished"] is None for request in document["requests"])


def test_no_more_questions_than_warm_up_is_refused(tiny_model: Path, harness: Harness) -> None:
    settings = SETTINGS.model_copy(update={"requests": 2})
    with pytest.raises(BadInput, match="warm-up"):
        measure_latency(tiny_model, harness, get_domain("live_shop"), asked(), settings)


def test_the_laptop_policy_gets_three_warm_ups_and_twenty_nine_questions() -> None:
    limits = (
        PercentileLimit(percentile=50, milliseconds=1, confidence=0.95),
        PercentileLimit(percentile=90, milliseconds=1, confidence=0.95),
    )
    policy = LatencyPolicy(arrival="closed-loop", concurrency=1, limits=limits)
    assert policy.requests_needed == 3 + 29


def test_a_kept_prompt_is_computed_once_and_changes_no_answer(tiny_model: Path, harness: Harness) -> None:
    domain = get_domain("live_shop")
    session = domain.sample_session(0, "dev")
    tasks = domain.sample_tasks("dev", 4, 0, session=session)
    state = HarnessState.original(harness)
    keeping = LocalPolicy(tiny_model, max_new_tokens=6, batch_size=1, keep_prefixes=True)
    forgetful = LocalPolicy(tiny_model, max_new_tokens=6, batch_size=1)
    computed: list[int] = []
    keeping.model.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: computed.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )
    begun: list[int] = []
    for number, task in enumerate(tasks):
        computed.clear()
        begun.clear()
        (kept,) = keeping.roll_out([Episode(state, task, domain)], domain.execute, on_turn_begun=begun.append)
        (fresh,) = forgetful.roll_out([Episode(state, task, domain)], domain.execute)
        assert kept == fresh
        assert begun == [0] * len(kept.turns)
        opened = Episode(state, task, domain)
        shared = keeping.tokens.opening(opened.messages(), opened.tools).shared
        # Every token is computed once; of later questions, only those after the harness's prompt.
        expected = len(kept.prompt_ids) + len(kept.completion_ids) - 1
        assert sum(computed) == expected - (shared if number else 0)
