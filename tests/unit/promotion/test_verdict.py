"""The bundled evidence folders, each with its documented verdict, and what no verdict may do."""

import copy
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.errors import BadInput
from hat.promotion.reasons import Outcome, ReasonCode
from hat.promotion.verdict import recompute
from tests.support.verdicts import CANDIDATE, PRODUCTION, SUITE, absolute, codes, items

EXPECTED = {
    "sound": ("PASS", set()),
    "first-three-slow": ("PASS", {"WARMUP_EXCLUDED"}),
    "no-production": ("PASS", {"NOT_APPLICABLE"}),
    "screening": ("PASS", {"NOT_APPLICABLE"}),
    "reordered": ("PASS", set()),
    "harness-moved-it": ("PASS", {"ATTRIBUTION"}),
    "swapped-order": ("FAIL", {"SLICE_REGRESSION"}),
    "slice-collapse": ("FAIL", {"SLICE_REGRESSION"}),
    "skill-collapse": ("FAIL", {"SLICE_REGRESSION"}),
    "stalled-server": ("FAIL", {"LATENCY_ABOVE_LIMIT"}),
    "worse-tail": ("FAIL", {"LATENCY_ABOVE_LIMIT"}),
    "slow-first-token": ("FAIL", {"LATENCY_ABOVE_LIMIT"}),
    "leaked-items": ("FAIL", {"LEAKED_ITEMS"}),
    "refusals-lost": ("FAIL", {"BELOW_BAR", "SLICE_REGRESSION"}),
    "skills-not-loaded": ("FAIL", {"BELOW_BAR"}),
    "ifeval-lost": ("FAIL", {"REGRESSION"}),
    "one-lucky-seed": ("FAIL", {"SEED_BELOW_BAR"}),
    "items-missing": ("INCONCLUSIVE", {"MISMATCHED_ITEMS"}),
    "nan": ("INCONCLUSIVE", {"NOT_A_NUMBER"}),
    "empty-metrics": ("INCONCLUSIVE", {"EMPTY"}),
    "forty-requests": ("INCONCLUSIVE", {"TOO_FEW_SAMPLES"}),
    "forty-items": ("INCONCLUSIVE", {"TOO_FEW_SAMPLES"}),
    "harness-mismatch": ("INCONCLUSIVE", {"HARNESS_MISMATCH"}),
    "other-model-timed": ("INCONCLUSIVE", {"MODEL_MISMATCH"}),
    "rate-not-kept": ("INCONCLUSIVE", {"INCONSISTENT"}),
    "regular-arrivals": ("INCONCLUSIVE", {"INCONSISTENT"}),
    "shared-device": ("INCONCLUSIVE", {"SHARED_DEVICE"}),
    "cpu-evidence": ("INCONCLUSIVE", {"ENGINE_NOT_ALLOWED", "HARDWARE_NOT_ALLOWED"}),
}


@pytest.mark.parametrize("case", EXPECTED)
def test_bundled_evidence_gets_its_documented_verdict(evidence_folders, case):
    word, expected = EXPECTED[case]
    verdict = recompute(evidence_folders / "gate.yaml", evidence_folders / case)
    assert verdict.word == word
    deciding = {
        reason.code.value
        for reason in verdict.reasons
        if reason.outcome in (Outcome.FAILED, Outcome.UNPROVEN)
    }
    if word == "PASS":
        assert not deciding
        assert expected <= codes(verdict)
    else:
        assert expected <= deciding
        # Nothing but the fault itself decides; a suite that lost items has too few of them, besides.
        assert deciding <= expected | {"TOO_FEW_SAMPLES"}
    assert verdict.exit_status == {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}[word]


def test_bundled_folders_are_what_the_maker_makes(maker, evidence_folders, tmp_path):
    assert (
        set(maker.FAULTS)
        == set(EXPECTED)
        == {path.name for path in evidence_folders.iterdir() if path.is_dir()}
    )
    for case in maker.FAULTS:
        made = maker.write(tmp_path / case, maker.documents_of(case))
        files = sorted(path.relative_to(made) for path in made.rglob("*.json"))
        assert files == sorted(
            path.relative_to(evidence_folders / case) for path in (evidence_folders / case).rglob("*.json")
        )
        for name in files:
            assert (made / name).read_text() == (evidence_folders / case / name).read_text(), f"{case}/{name}"


def test_the_document_has_the_agreed_keys_and_is_json(evidence_folders):
    document = recompute(evidence_folders / "gate.yaml", evidence_folders / "nan").to_json()
    assert {"schema_version", "verdict", "reasons", "policy_digest", "evidence_digest"} <= document.keys()
    assert all({"code", "metric", "message"} <= reason.keys() for reason in document["reasons"])
    json.dumps(document, allow_nan=False)


def test_a_folder_that_is_not_there_is_bad_input(evidence_folders, tmp_path):
    with pytest.raises(BadInput, match="no such evidence folder"):
        recompute(evidence_folders / "gate.yaml", tmp_path / "nowhere")


@pytest.mark.parametrize("others", [(), ("notes.txt",), ("notes.txt", "deeper/subject.json")])
def test_a_folder_without_any_evidence_is_bad_input(evidence_folders, tmp_path, others):
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    with pytest.raises(BadInput, match="no evidence") as caught:
        recompute(evidence_folders / "gate.yaml", tmp_path)
    assert ("in deeper/ below" in str(caught.value)) == (len(others) == 2)


@pytest.mark.parametrize("name", ["subject.json", CANDIDATE, "latency.json"])
def test_any_single_document_is_evidence_with_parts_missing(maker, evidence_folders, tmp_path, name):
    folder = maker.write(tmp_path / "whole", maker.sound())
    (tmp_path / "part" / name).parent.mkdir(parents=True)
    (tmp_path / "part" / name).write_bytes((folder / name).read_bytes())
    assert recompute(evidence_folders / "gate.yaml", tmp_path / "part").word == "INCONCLUSIVE"


def test_a_proven_failure_is_fail_even_where_other_evidence_is_missing(maker, judge):
    documents = maker.documents_of("slice-collapse")
    del documents["latency.json"]
    assert judge(documents).word == "FAIL"


def test_screening_is_about_the_bars_alone(maker, judge):
    documents = maker.documents_of("screening")
    documents["evaluation/base.json"] = maker.evaluation("base", set())
    verdict = judge(documents)
    assert verdict.word == "PASS"
    for item in items(documents)[:30]:
        item["correct"] = 0
    maker.summarise(documents[CANDIDATE])
    assert judge(documents).word == "FAIL"


def test_reported_suites_never_decide(maker, judge):
    documents = maker.sound()
    documents[CANDIDATE]["suites"]["tool_prompt_robustness"] = {
        "n": 2, "accuracy": 0.0, "items": [maker.item(0, 0), maker.item(1, 0)]
    }  # fmt: skip
    reported = judge(documents, reported=("tool_prompt_robustness", "absent"))
    assert reported.word == "PASS"
    assert sum(reason.code is ReasonCode.REPORTED for reason in reported.reasons) == 2


RANK = {"FAIL": 0, "INCONCLUSIVE": 1, "PASS": 2}


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_the_verdict_does_not_depend_on_the_order_of_items_or_requests(maker, judge, data):
    documents = maker.documents_of(data.draw(st.sampled_from(sorted(EXPECTED))))
    before = judge(documents)
    for role in (CANDIDATE, PRODUCTION):
        if role in documents:
            suite = documents[role]["suites"][SUITE]
            suite["items"] = data.draw(st.permutations(suite["items"]))
    requests = documents["latency.json"]["requests"]
    documents["latency.json"]["requests"] = data.draw(st.permutations(requests))
    after = judge(documents)
    assert after.word == before.word
    assert after.reasons == before.reasons


@settings(deadline=None, max_examples=40)
@given(
    case=st.sampled_from(sorted(EXPECTED)),
    wrong=st.sets(st.integers(0, 59), max_size=8),
    failed=st.sets(st.integers(0, 102), max_size=8),
)
def test_more_failures_never_improve_the_verdict(maker, judge, case, wrong, failed):
    documents = maker.documents_of(case)
    before = judge(documents)
    worse = copy.deepcopy(documents)
    for index, item in enumerate(items(worse)):
        if index in wrong and item["correct"] == 1:
            item["correct"] = 0
    if case != "nan":
        maker.summarise(worse[CANDIDATE])
    for index, request in enumerate(worse["latency.json"]["requests"]):
        if index in failed:
            request["status"] = "error"
    assert RANK[judge(worse).word] <= RANK[before.word]


@settings(deadline=None, max_examples=15)
@given(extra=st.integers(1, 40), case=st.sampled_from(["slice-collapse", "stalled-server", "worse-tail"]))
def test_adding_failed_items_and_requests_never_turns_fail_into_pass(maker, judge, extra, case):
    documents = maker.documents_of(case)
    arrivals = random.Random(extra)
    clock = documents["latency.json"]["requests"][-1]["scheduled"]
    for number in range(100, 100 + extra):
        clock += arrivals.expovariate(10)
        items(documents).append(maker.item(59, 0) | {"id": f"q{number}"})
        items(documents, PRODUCTION).append(maker.item(59, 1) | {"id": f"q{number}"})
        documents["latency.json"]["requests"].append(
            {"id": f"r{number}x", "scheduled": round(clock, 4), "status": "timeout"}
        )
    for role in (CANDIDATE, PRODUCTION):
        maker.summarise(documents[role])
    assert judge(documents).word == "FAIL"


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
