"""States of the full set in use: the expert solves any task under them, and the command samples and logs them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hat.agent.episode import Episode
from hat.augment.config import FAMILIES, TEST_ONLY_FAMILIES, AugmentConfig
from hat.augment.plan import sample_states
from hat.augment.test_use import FILE_NAME
from hat.domains.base import get_domain
from hat.harness.registry import Registry
from pipelines.cli.main import app

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")
DOMAIN = get_domain("live_shop")


@pytest.mark.parametrize(("version", "split"), [("1.0.0", "train"), ("1.1.0", "dev"), ("1.0.0", "test")])
def test_the_expert_solves_any_task_under_a_state_that_serves_all(version: str, split: str) -> None:
    harness = REGISTRY.load("live-shop", version)
    config = AugmentConfig.full(split, original_share=0, depth=(3, 4))
    states = sample_states(harness, count=39, run_seed=11, split=split, config=config)
    assert not any(state.only_task for state in states)
    tasks = DOMAIN.sample_tasks(split, 39, seed=8)
    episodes = [Episode(state, task, DOMAIN) for state, task in zip(states, tasks, strict=True)]
    DOMAIN.expert().play(episodes, DOMAIN.execute, lambda index: None)
    for episode in episodes:
        scores = DOMAIN.score(episode.task, episode.trajectory(), episode.state.canonical)
        assert scores.accuracy == 1, (episode.state.families, episode.task.question)


def test_the_command_uses_every_legal_family_and_logs_the_use_of_the_test_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    for split in ("train", "test"):
        folder = tmp_path / split
        arguments = ["augment", "live-shop@1.0.0", "--seed", "7", "--count", "12", "--split", split]
        result = CliRunner().invoke(app, [*arguments, "--out", str(folder), "--json"])
        assert result.exit_code == 0, result.output
        config = json.loads((folder / "states.json").read_text())["config"]
        held_out = set(TEST_ONLY_FAMILIES) if split == "train" else set()
        assert set(config["families"]) == set(FAMILIES) - held_out
    (line,) = (tmp_path / "home" / FILE_NAME).read_text().splitlines()
    assert json.loads(line)["states"] == 12


def test_the_command_refuses_a_family_that_is_kept_for_the_test_split(tmp_path: Path) -> None:
    arguments = ["augment", "live-shop@1.0.0", "--family", "T5", "--out", str(tmp_path / "states")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0
    assert "kept for the test split" in str(result.exception) + result.output
    assert not (tmp_path / "states").exists()
