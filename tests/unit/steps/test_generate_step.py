import json
from pathlib import Path

import pytest

import hat.steps.generate as step
from hat.agent.policies.config import EndpointConfig
from hat.errors import EnvironmentFailure
from hat.harness.registry import Registry
from hat.runs.config import RunConfig
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.steps.subject import Subject
from hat.trajectories.config import GenerateConfig
from hat.trajectories.record import Trajectory

REGISTRY = Path(__file__).parents[3] / "harness_registry"


@pytest.fixture
def given(tmp_path, monkeypatch) -> dict[str, str]:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
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
    settings = GenerateConfig(tasks=26)
    RunConfig(domain="live_shop", generate=settings).write(tmp_path / "config.json")
    return {
        "config": str(tmp_path / "config.json"),
        "subject": str(tmp_path / "subject.json"),
        "states_dir": str(tmp_path / "states"),
    }


def test_the_expert_makes_accepted_trajectories_and_they_are_counted(given, tmp_path):
    step.run(**given, trajectories_out_dir=str(tmp_path / "out"))
    lines = (tmp_path / "out" / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    trajectories = [Trajectory.from_json(json.loads(line)) for line in lines]
    assert len(trajectories) == 26
    assert {trajectory.task.split for trajectory in trajectories} == {"train"}
    assert all(trajectory.scores.accuracy == 1 for trajectory in trajectories)
    assert len({trajectory.task.intent for trajectory in trajectories}) == 13
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["tasks"], summary["accepted"], summary["rejected"]) == (26, 26, {})
    assert summary["policy"] == "scripted-expert"
    assert not list((tmp_path / "home" / "journals").iterdir())


def test_the_same_settings_give_the_same_bytes(given, tmp_path):
    step.run(**given, trajectories_out_dir=str(tmp_path / "one"))
    step.run(**given, trajectories_out_dir=str(tmp_path / "two"))
    for name in ("trajectories.jsonl", "summary.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_an_unreachable_strong_model_leaves_nothing_half_written(given, tmp_path):
    endpoint = EndpointConfig(url="http://127.0.0.1:9/v1", model="strong", retries=0)
    settings = GenerateConfig(tasks=4, policy="endpoint", endpoint=endpoint)
    RunConfig(domain="live_shop", generate=settings).write(Path(given["config"]))
    with pytest.raises(EnvironmentFailure, match=r"http://127\.0\.0\.1:9/v1"):
        step.run(**given, trajectories_out_dir=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_twins_and_faults_are_made_when_asked_for(given, tmp_path):
    step.run(**given, trajectories_out_dir=str(tmp_path / "plain"))
    assert not (tmp_path / "plain" / "twins.jsonl").exists()
    settings = GenerateConfig(tasks=26, twin_pairs=6, fault_share=0.5)
    RunConfig(domain="live_shop", generate=settings).write(Path(given["config"]))
    step.run(**given, trajectories_out_dir=str(tmp_path / "more"))
    lines = (tmp_path / "more" / "twins.jsonl").read_text(encoding="utf-8").splitlines()
    members = [Trajectory.from_json(json.loads(line)) for line in lines]
    assert [one.task.id.rpartition("/")[2] for one in members] == ["plain", "twin"] * 6
    summary = json.loads((tmp_path / "more" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["accepted"], summary["twin_pairs"], summary["twin_pairs_accepted"]) == (26, 6, 6)
    assert "timeout" in (tmp_path / "more" / "trajectories.jsonl").read_text(encoding="utf-8")
