"""Evidence that is missing, malformed or about something else is INCONCLUSIVE, each fault by its reason code."""

import pytest

from hat.promotion.evidence import load_evidence
from hat.promotion.reasons import ReasonCode
from hat.promotion.verdict import recompute
from tests.support.verdicts import CANDIDATE, PRODUCTION, SUITE, codes, items, message_of, one


def remove_subject(documents):
    del documents["subject.json"]


def remove_candidate(documents):
    del documents[CANDIDATE]


def remove_production(documents):
    del documents[PRODUCTION]


def remove_latency(documents):
    del documents["latency.json"]


def remove_training_items(documents):
    del documents["training_items.json"]


def remove_suite(documents):
    documents[CANDIDATE]["suites"] = {}


def remove_score(documents):
    items(documents)[3]["correct"] = None


def nan_accuracy(documents):
    documents[CANDIDATE]["suites"][SUITE]["accuracy"] = float("nan")


def nan_time(documents):
    documents["latency.json"]["requests"][50]["finished"] = float("nan")


def no_requests(documents):
    documents["latency.json"]["requests"] = []


def wrong_summary(documents):
    documents[CANDIDATE]["suites"][SUITE]["accuracy"] = 0.99


def wrong_count(documents):
    documents[CANDIDATE]["suites"][SUITE]["n"] = 61


def repeated_item(documents):
    items(documents)[1]["id"] = items(documents)[0]["id"]


def repeated_request(documents):
    documents["latency.json"]["requests"][1]["id"] = "r000"


def negative_latency(documents):
    documents["latency.json"]["requests"][50]["finished"] = 0.0


def other_task_under_the_same_id(documents):
    items(documents)[3]["task_digest"] = "another"


def other_state_under_the_same_id(documents):
    items(documents)[3]["state"] = "another"


def other_model(documents):
    documents[CANDIDATE]["model_digest"] = "another"


def unstated_production(documents):
    documents["subject.json"]["models"]["production"] = None


def other_environment(documents):
    documents["subject.json"]["environment"] = "laptop"


def transformers_on_cpu(documents):
    documents["latency.json"] |= {"engine": "transformers", "hardware": "cpu"}


def closed_loop(documents):
    documents["latency.json"] |= {"arrival": "closed-loop", "concurrency": 1, "rate": None}


def lighter_load(documents):
    documents["latency.json"]["rate"] = 5.0


def shared_device(documents):
    documents["latency.json"]["shared_device"] = True


def other_intent_than_production(documents):
    items(documents)[3]["intent"] = "easier"


def other_skill_than_production(documents):
    items(documents)[3]["skill"] = "easier"


def nothing_in_production_though_the_ledger_has_a_head(documents):
    documents["subject.json"]["models"]["production"] = None
    del documents[PRODUCTION]


def production_though_the_ledger_is_empty(documents):
    documents["subject.json"]["ledger_head"] = 0


def half_right(documents):
    items(documents)[3]["correct"] = items(documents)[4]["correct"] = 0.5


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (remove_subject, "MISSING_EVIDENCE"),
        (remove_candidate, "MISSING_EVIDENCE"),
        (remove_production, "MISSING_EVIDENCE"),
        (remove_latency, "MISSING_EVIDENCE"),
        (remove_training_items, "MISSING_EVIDENCE"),
        (remove_suite, "MISSING_EVIDENCE"),
        (remove_score, "MISSING_EVIDENCE"),
        (nan_accuracy, "NOT_A_NUMBER"),
        (nan_time, "NOT_A_NUMBER"),
        (no_requests, "EMPTY"),
        (wrong_summary, "INCONSISTENT"),
        (wrong_count, "INCONSISTENT"),
        (repeated_item, "INCONSISTENT"),
        (repeated_request, "INCONSISTENT"),
        (negative_latency, "INCONSISTENT"),
        (other_task_under_the_same_id, "MISMATCHED_ITEMS"),
        (other_state_under_the_same_id, "MISMATCHED_ITEMS"),
        (other_model, "MODEL_MISMATCH"),
        (unstated_production, "MODEL_MISMATCH"),
        (other_environment, "ENVIRONMENT_MISMATCH"),
        (transformers_on_cpu, "ENGINE_NOT_ALLOWED"),
        (transformers_on_cpu, "HARDWARE_NOT_ALLOWED"),
        (closed_loop, "LOAD_MISMATCH"),
        (lighter_load, "LOAD_MISMATCH"),
        (shared_device, "SHARED_DEVICE"),
        (half_right, "MALFORMED_EVIDENCE"),
        (other_intent_than_production, "MISMATCHED_ITEMS"),
        (other_skill_than_production, "MISMATCHED_ITEMS"),
        (nothing_in_production_though_the_ledger_has_a_head, "INCONSISTENT"),
        (production_though_the_ledger_is_empty, "INCONSISTENT"),
    ],
)
def test_evidence_that_is_missing_or_unfit_is_inconclusive_and_no_cause_to_train(maker, judge, fault, code):
    documents = maker.sound()
    fault(documents)
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert code in codes(verdict)
    assert not verdict.calls_for_training


@pytest.mark.parametrize(
    "name", ["subject.json", CANDIDATE, PRODUCTION, "latency.json", "training_items.json"]
)
@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema_version": 2}', '{"schema_version": 1, "schema_version": 1}', "\ud800"]
)
def test_a_file_that_cannot_be_read_is_inconclusive_and_named(maker, evidence_folders, tmp_path, name, text):
    folder = maker.write(tmp_path, maker.sound())
    (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    verdict = recompute(evidence_folders / "gate.yaml", folder)
    assert verdict.word == "INCONCLUSIVE"
    assert name in message_of(verdict, ReasonCode.MALFORMED_EVIDENCE)


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("subject.json", "schema_version", True, "schema_version: must be the whole number 1"),
        ("latency.json", "shared_device", "no", "shared_device: must be true or false"),
        ("subject.json", "ledger_head", "1", "ledger_head: must be a whole number"),
        ("latency.json", "concurrency", 8.0, "concurrency: must be a whole number"),
    ],
)
def test_a_value_of_another_type_is_malformed_and_not_taken_for_what_it_resembles(
    maker, evidence_folders, tmp_path, name, key, value, message
):
    documents = maker.sound()
    documents[name][key] = value
    verdict = recompute(evidence_folders / "gate.yaml", maker.write(tmp_path, documents))
    assert verdict.word == "INCONCLUSIVE"
    assert message in message_of(verdict, ReasonCode.MALFORMED_EVIDENCE)


def test_an_item_that_is_asked_again_under_another_name_is_not_another_item(maker, judge):
    documents = maker.sound()
    for name in (CANDIDATE, PRODUCTION):
        suite = documents[name]["suites"][SUITE]
        right = [item for item in items(documents) if item["correct"]][:20]
        suite["items"] += [{**item, "id": f"{item['id']}-{copy}"} for item in right for copy in range(5)]
        suite["n"] = len(suite["items"])
        suite["accuracy"] = sum(item["correct"] for item in suite["items"]) / suite["n"]
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert "more than once" in message_of(verdict, ReasonCode.INCONSISTENT)


@pytest.mark.parametrize(
    "disguise", [str.upper, lambda digest: digest.ljust(64, "0"), lambda digest: f"sha256:{digest}"]
)
@pytest.mark.parametrize("side", ["evaluated", "trained"])
def test_digests_of_another_form_do_not_hide_a_leak(maker, evidence_folders, tmp_path, disguise, side):
    documents = maker.sound()
    trained = documents["training_items.json"]
    trained["task_digests"].append(items(documents)[0]["task_digest"])
    if side == "trained":
        trained["task_digests"] = [disguise(digest) for digest in trained["task_digests"]]
    else:
        for name in (CANDIDATE, PRODUCTION):
            for suite in documents[name]["suites"].values():
                for item in suite["items"]:
                    item["task_digest"] = disguise(item["task_digest"])
    verdict = recompute(evidence_folders / "gate.yaml", maker.write(tmp_path, documents))
    assert verdict.word != "PASS"
    assert {"INCONSISTENT", "MALFORMED_EVIDENCE", "LEAKED_ITEMS"} & set(codes(verdict))


def test_one_model_with_two_results_is_no_screen(maker, judge):
    documents = maker.sound()
    digest = documents["subject.json"]["models"]["production"]
    documents["subject.json"]["models"]["candidate"] = digest
    documents[CANDIDATE]["model_digest"] = documents["latency.json"]["model_digest"] = digest
    wrong = next(item for item in documents[PRODUCTION]["suites"][SUITE]["items"] if item["correct"])
    wrong["correct"] = 0
    suite = documents[PRODUCTION]["suites"][SUITE]
    suite["accuracy"] = sum(item["correct"] for item in suite["items"]) / suite["n"]
    verdict = judge(documents)
    assert verdict.word == "INCONCLUSIVE"
    assert "scored differently" in message_of(verdict, ReasonCode.INCONSISTENT)


@pytest.mark.parametrize("digest", ["", "x", "1044B873178652A7", "1044b873178652a7 "])
def test_what_is_no_digest_is_not_taken_for_an_item_trained_on(maker, evidence_folders, tmp_path, digest):
    documents = maker.sound()
    documents["training_items.json"]["task_digests"][0] = digest
    verdict = recompute(evidence_folders / "gate.yaml", maker.write(tmp_path, documents))
    assert verdict.word == "INCONCLUSIVE"
    assert "training_items.json" in message_of(verdict, ReasonCode.MALFORMED_EVIDENCE)


def test_a_folder_in_a_documents_place_is_malformed_wherever_the_evidence_lies(
    maker, evidence_folders, tmp_path
):
    verdicts = []
    for place in ("here", "there"):
        folder = maker.write(tmp_path / place, maker.sound())
        (folder / "latency.json").unlink()
        (folder / "latency.json").mkdir()
        verdicts.append(recompute(evidence_folders / "gate.yaml", folder).to_json())
    assert verdicts[0] == verdicts[1]
    assert "latency.json: is not a file" in str(verdicts[0])


def test_training_items_outside_of_the_folder_are_not_read(maker, tmp_path):
    documents = maker.sound()
    documents["subject.json"]["training_items"] = "../elsewhere.json"
    evidence = load_evidence(maker.write(tmp_path / "evidence", documents))
    assert evidence.training_digests is None
    assert "../elsewhere.json" in evidence.problems[0].message


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
