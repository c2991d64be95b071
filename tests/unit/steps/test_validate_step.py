"""Step `validate` on what step `generate` really writes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hat.steps.generate as generate_step
import hat.steps.validate as step
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.suites import build_suites
from hat.harness.registry import Registry
from hat.runs.config import RunConfig
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.steps.subject import Subject
from hat.trajectories.config import GenerateConfig, ValidateConfig
from hat.trajectories.twins import play_pairs, training_pairs, write_pairs

REGISTRY = Path(__file__).parents[3] / "harness_registry"
EVALUATE = EvaluateConfig(live_stream_qa=20, harness_variant_qa=20, tool_prompt_robustness=6)


@pytest.fixture
def given(tmp_path, monkeypatch) -> dict[str, str]:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HAT_RUN_ID", "run-1")
    monkeypatch.delenv("HAT_STORE", raising=False)
    harness = publish_harness(open_run_store(), Registry(REGISTRY), "live-shop", "1.0.0")
    Subject(
        harness="live-shop",
        version="1.0.0",
        harness_digest=harness.digest,
        environment="tiny",
        mode="auto",
        plan="train",
        gate_policy="",
        base={},
    ).write(tmp_path / "subject.json")
    settings = RunConfig(
        domain="live_shop",
        generate=GenerateConfig(tasks=26),
        validation=ValidateConfig(minimum_trajectories=20),
        evaluate=EVALUATE,
    )
    settings.write(tmp_path / "config.json")
    shared = {"config": str(tmp_path / "config.json"), "subject": str(tmp_path / "subject.json")}
    generate_step.run(**shared, states_dir="", trajectories_out_dir=str(tmp_path / "made"))
    return {
        **shared,
        "trajectories_dir": str(tmp_path / "made"),
        "report_out_html": str(tmp_path / "report.html"),
    }


def test_what_generate_makes_is_fit_to_train_on(given, tmp_path):
    step.run(**given)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Fit to train on" in page
    assert "26 trajectories" in page


def test_an_evaluation_item_among_them_stops_the_run_with_a_page_in_the_store(given, tmp_path):
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    task = build_suites(harness, get_domain("live_shop"), EVALUATE)["harness_variant_qa"][0].task
    path = tmp_path / "made" / "trajectories.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    leaked = json.loads(lines[0]) | {"task": task.to_json() | {"split": "train"}}
    path.write_text("\n".join([json.dumps(leaked), *lines[1:]]), encoding="utf-8")
    with pytest.raises(BadInput, match=r"no leakage .* found line 1 .*harness_variant_qa"):
        step.run(**given)
    for page in ((tmp_path / "report.html").read_bytes(), open_run_store().get("runs/run-1/validation.html")):
        assert b"Not fit to train on" in page


def test_an_empty_file_stops_the_run(given, tmp_path):
    (tmp_path / "made" / "trajectories.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match="row count: expected at least 20 trajectories, found 0"):
        step.run(**given)


def test_a_twin_that_is_an_evaluation_item_stops_the_run(given, tmp_path):
    harness, domain = Registry(REGISTRY).load("live-shop", "1.0.0"), get_domain("live_shop")
    played = play_pairs(domain.expert(), training_pairs(harness, domain, 4, seed=0), domain)
    write_pairs(tmp_path / "made", played)
    step.run(**given)
    task = build_suites(harness, domain, EVALUATE)["live_stream_qa"][0].task
    leaked = replace(played[1].twin, task=replace(task, split="train"))
    write_pairs(tmp_path / "made", [played[0], replace(played[1], twin=leaked)])
    with pytest.raises(BadInput, match="is an item of"):
        step.run(**given)
