"""The evaluate step on a real, tiny, random model: what it writes, and what it does not do twice."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

import hat.steps.evaluate as step
from hat.domains.base import get_domain
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.run import items_digest
from hat.harness.registry import Registry
from hat.models import ModelRef, ModelStore
from hat.promotion import ledger
from hat.promotion.archive import archive_evidence
from hat.promotion.attribution import attribute
from hat.promotion.comparison import Measurements
from hat.promotion.evidence import load_evidence
from hat.runs.config import RunConfig
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.steps.subject import Subject

REGISTRY = Path(__file__).parents[3] / "harness_registry"
SETTINGS = EvaluateConfig(
    live_stream_qa=4,
    harness_variant_qa=4,
    tool_prompt_robustness=3,
    instruction_following=2,
    base_items=2,
    max_new_tokens=3,
    instruction_tokens=3,
)


def tiny_model(folder: Path, base_model: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(base_model).save_pretrained(folder)
    return folder


@pytest.fixture
def given(tmp_path, monkeypatch, base_model) -> dict[str, str]:
    """A store with the harness and two models, and the step's inputs."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    store = open_run_store()
    models = ModelStore(store)
    base = models.publish(tiny_model(tmp_path / "base", base_model, 1), "tiny base")
    candidate = models.publish(tiny_model(tmp_path / "candidate", base_model, 2), "tiny base")
    candidate.write(tmp_path / "model.json")
    harness = publish_harness(store, Registry(REGISTRY), "live-shop", "1.0.0")
    RunConfig(domain="live_shop", evaluate=SETTINGS, code_version="v1").write(tmp_path / "config.json")
    Subject(
        harness="live-shop",
        version="1.0.0",
        harness_digest=harness.digest,
        environment="tiny",
        mode="auto",
        plan="train",
        gate_policy="",
        base=base.model_dump(),
    ).write(tmp_path / "subject.json")
    trained_on = get_domain("live_shop").sample_tasks("train", 3, 1)
    (tmp_path / "trajectories").mkdir()
    lines = [json.dumps({"task": task.to_json()}) + "\n" for task in trained_on[:2]]
    (tmp_path / "trajectories" / "trajectories.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "tasks.json").write_text(
        json.dumps({"schema_version": 1, "task_digests": [trained_on[2].digest]}), encoding="utf-8"
    )
    return {
        "config": str(tmp_path / "config.json"),
        "subject": str(tmp_path / "subject.json"),
        "model_in": str(tmp_path / "model.json"),
        "trajectories_dir": str(tmp_path / "trajectories"),
        "tasks_in": str(tmp_path / "tasks.json"),
    }


def test_the_evidence_holds_base_and_candidate_on_the_same_items_and_what_was_trained_on(given, tmp_path):
    step.run(**given, evidence_out_dir=str(tmp_path / "evidence"))
    evidence = load_evidence(tmp_path / "evidence")
    assert evidence.problems == ()
    assert set(evidence.evaluations) == {"base", "candidate"}
    candidate, base = evidence.evaluations["candidate"], evidence.evaluations["base"]
    assert candidate.model_digest == ModelRef.read(Path(given["model_in"])).digest
    assert {suite: result.n for suite, result in candidate.suites.items()} == {
        "live_stream_qa": 4,
        "harness_variant_qa": 4,
        "tool_prompt_robustness": 3,
        "instruction_following": 2,
    }
    for suite, result in base.suites.items():
        ids = [item.id for item in candidate.suites[suite].items]
        assert [item.id for item in result.items] == ids[: result.n]
    assert base.suites["instruction_following"].n == 2
    tasks = get_domain("live_shop").sample_tasks("train", 3, 1)
    assert evidence.training_digests == {task.digest for task in tasks}
    assert evidence.subject.engine == "transformers"


def test_a_model_is_evaluated_once_and_again_when_the_code_changes(given, tmp_path, monkeypatch):
    calls: list[str] = []
    evaluate = step.evaluate

    def counted(folder, *args, **options):
        calls.append(options["model_digest"])
        return evaluate(folder, *args, **options)

    monkeypatch.setattr(step, "evaluate", counted)
    step.run(**given, evidence_out_dir=str(tmp_path / "first"))
    assert len(calls) == 4  # each of two models under the harness, and on general prompts
    step.run(**given, evidence_out_dir=str(tmp_path / "second"))
    assert len(calls) == 4
    for role in ("base", "candidate"):
        first, second = (tmp_path / name / "evaluation" / f"{role}.json" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    RunConfig(domain="live_shop", evaluate=SETTINGS, code_version="v2").write(Path(given["config"]))
    step.run(**given, evidence_out_dir=str(tmp_path / "third"))
    assert len(calls) == 8


def test_general_prompts_are_asked_once_for_all_harnesses(given, tmp_path, monkeypatch):
    step.run(**given, evidence_out_dir=str(tmp_path / "first"))
    harness = publish_harness(open_run_store(), Registry(REGISTRY), "live-shop", "1.1.0")
    changes = {"version": "1.1.0", "harness_digest": harness.digest}
    Subject.read(given["subject"]).model_copy(update=changes).write(given["subject"])
    asked: list[EvaluateConfig] = []
    evaluate = step.evaluate

    def counted(folder, harness, domain, config, **options):
        asked.append(config)
        return evaluate(folder, harness, domain, config, **options)

    monkeypatch.setattr(step, "evaluate", counted)
    step.run(**given, evidence_out_dir=str(tmp_path / "second"))
    assert [config.instruction_following for config in asked] == [0, 0]
    first, second = (
        json.loads((tmp_path / name / "evaluation" / "candidate.json").read_text())
        for name in ("first", "second")
    )
    assert second["suites"]["instruction_following"] == first["suites"]["instruction_following"]
    assert second["harness_digest"] == harness.digest != first["harness_digest"]
    assert second["items_digest"] == items_digest(second["suites"]) != first["items_digest"]


def test_general_prompts_alone_can_be_asked(given, tmp_path):
    only = SETTINGS.only(("instruction_following",))
    RunConfig(domain="live_shop", evaluate=only, code_version="v1").write(Path(given["config"]))
    step.run(**given, evidence_out_dir=str(tmp_path / "evidence"))
    assert set(load_evidence(tmp_path / "evidence").evaluations["candidate"].suites) == {
        "instruction_following"
    }


def test_in_a_screen_the_production_model_is_the_candidate_and_evaluated_once(given, tmp_path, monkeypatch):
    subject = Subject.read(given["subject"])
    production = ModelRef.read(Path(given["model_in"])).model_dump()
    subject.model_copy(update={"production": production, "plan": "screen"}).write(given["subject"])
    calls: list[str] = []
    evaluate = step.evaluate

    def counted(folder, *args, **options):
        calls.append(options["model_digest"])
        return evaluate(folder, *args, **options)

    monkeypatch.setattr(step, "evaluate", counted)
    screened = {**given, "trajectories_dir": "", "tasks_in": ""}
    step.run(**screened, evidence_out_dir=str(tmp_path / "evidence"))
    evidence = load_evidence(tmp_path / "evidence")
    assert set(evidence.evaluations) == {"base", "candidate", "production"}
    assert len(calls) == 4
    assert evidence.subject.screens_production
    # No promotion is in the ledger of this store, so what the model was trained on is unknown, and said so.
    assert evidence.training_digests is None


def promote_as_evaluated(given, tmp_path) -> ModelRef:
    """Put the candidate of the given run into production, with the evidence that the step wrote of it."""
    step.run(**given, evidence_out_dir=str(tmp_path / "promoted"))
    evidence, about = load_evidence(tmp_path / "promoted"), Subject.read(given["subject"])
    store, model = open_run_store(), ModelRef.read(Path(given["model_in"]))
    archive_evidence(store, tmp_path / "promoted", evidence)
    proposal = ledger.Proposal(
        environment=about.environment,
        harness=about.harness,
        version=about.version,
        harness_digest=about.harness_digest,
        model=model.model_dump(),
        run="first",
        verdict_digest="v",
        evidence_digest=evidence.digest,
        who="tester",
        when="2026-01-01T00:00:00+00:00",
    )
    ledger.promote(store, proposal, expected_head=0)
    return model


def test_a_new_model_under_a_new_harness_is_also_measured_under_the_old_one(given, tmp_path, base_model):
    production, first = promote_as_evaluated(given, tmp_path), Subject.read(given["subject"])
    store = open_run_store()
    harness = publish_harness(store, Registry(REGISTRY), "live-shop", "1.1.0")
    newer = ModelStore(store).publish(tiny_model(tmp_path / "newer", base_model, 3), "tiny base")
    newer.write(Path(given["model_in"]))
    changes = {
        "version": "1.1.0",
        "harness_digest": harness.digest,
        "production": production.model_dump(),
        "production_version": "1.0.0",
        "production_harness_digest": first.harness_digest,
        "ledger_head": 1,
    }
    first.model_copy(update=changes).write(given["subject"])
    step.run(**given, evidence_out_dir=str(tmp_path / "evidence"))
    evidence = load_evidence(tmp_path / "evidence")
    assert {role: document.model_digest for role, document in evidence.before.items()} == {
        "production": production.digest,
        "candidate": newer.digest,
    }
    assert {document.harness_digest for document in evidence.before.values()} == {first.harness_digest}
    assert evidence.subject.previous_harness.digest == first.harness_digest
    measurements = Measurements(evidence.subject, evidence.evaluations, frozenset(evidence.evaluations))
    found, _ = attribute(measurements, evidence.before)
    assert found.n == 4
    assert len(found.cells) == 4


def test_the_same_harness_again_is_not_measured_twice(given, tmp_path):
    production, first = promote_as_evaluated(given, tmp_path), Subject.read(given["subject"])
    changes = {
        "production": production.model_dump(),
        "production_version": first.version,
        "production_harness_digest": first.harness_digest,
    }
    first.model_copy(update=changes).write(given["subject"])
    step.run(**given, evidence_out_dir=str(tmp_path / "evidence"))
    assert load_evidence(tmp_path / "evidence").before == {}
