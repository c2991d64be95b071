"""Sampling: today's default states stay as they are, and what is kept for the test split stays there."""

import json
from collections import Counter
from pathlib import Path

import pytest
from pydantic import ValidationError

from hat.augment.config import (
    DEFAULT_FAMILIES,
    FAMILIES,
    TEST_ONLY_COMPOSITIONS,
    TEST_ONLY_FAMILIES,
    AugmentConfig,
)
from hat.augment.plan import sample_states
from hat.augment.sampler import sample_state
from hat.augment.test_use import FILE_NAME, log_test_use
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.files import sha256_text
from hat.harness.registry import Registry
from hat.runs.config import parse_config

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")
HARNESS = REGISTRY.load("live-shop", "1.0.0")

# SHA-256 over digest and families of the first 60 states, one a line. A training reads seeds: they must go on to mean
# the states that they meant.
DEFAULT_STATES = {
    ("1.0.0", "train"): "37d926488814228a67856d368b75b9ae86580a67ec23b8c995eb470b6150e3f1",
    ("1.0.0", "dev"): "179f7fbdfc5218e358f1e4882b8e7506e67a592d9f1df4c1406a531bb07ba492",
    ("1.0.0", "test"): "def27515310d2581737f7e4961cdf7afb9db363b8eb18b4e61d12bb01e5cb231",
    ("1.1.0", "train"): "500a68626a737aaffd3ea02f4ba9b1012f55fdb3b0371d128d21034637f2d0e8",
    ("1.1.0", "dev"): "7d613ed6fef2576a08603c150e332fecbce9ace8c42cbc67fe47a90f3520d8fa",
    ("1.1.0", "test"): "f3ced5f209cfa353feb0856f074e18f5b084ec868f78e5a7d926ce0f4a67df36",
}


@pytest.mark.parametrize(("version", "split"), DEFAULT_STATES)
def test_the_default_settings_give_the_states_that_they_always_gave(version: str, split: str) -> None:
    harness = REGISTRY.load("live-shop", version)
    states = [sample_state(harness, seed=i, split=split, config=AugmentConfig()) for i in range(60)]
    lines = "\n".join(f"{state.digest},{','.join(state.families)}" for state in states)
    assert sha256_text(lines) == DEFAULT_STATES[version, split]
    assert all(not state.skipped and not state.only_task for state in states)


def test_the_default_families_are_those_of_the_default_settings() -> None:
    assert AugmentConfig().families == DEFAULT_FAMILIES
    assert AugmentConfig().depth is None


def test_the_preset_full_is_all_but_what_is_kept_for_the_test_split() -> None:
    config = parse_config({"augment": {"families": "full", "depth": [2, 2]}}, where="test").augment
    assert set(FAMILIES) - set(config.families) == set(TEST_ONLY_FAMILIES)
    assert config.depth == (2, 2)
    assert AugmentConfig.model_validate(config.model_dump(mode="json")) == config
    states = sample_states(HARNESS, count=40, run_seed=1, split="train", config=config)
    assert all(len(state.families) <= 2 for state in states)


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize(
    "settings", [{"families": ("T5",)}, {"families": ("T1", "K4")}, {"layouts": ("markdown", "xml")}]
)
def test_what_is_kept_for_the_test_split_is_refused_elsewhere(split: str, settings: dict) -> None:
    with pytest.raises(BadInput, match="kept for the test split"):
        sample_state(HARNESS, seed=0, split=split, config=AugmentConfig(**settings))


@pytest.mark.parametrize(
    "settings", [{"families": ["T5"]}, {"families": ["T1", "K4"]}, {"layouts": ["markdown", "xml"]}]
)
def test_a_run_that_would_train_on_it_is_refused_before_it_starts(settings: dict) -> None:
    with pytest.raises(BadInput, match="kept for the test split"):
        parse_config({"augment": settings}, where="config.json")


def test_held_out_compositions_are_sampled_for_the_test_split_only() -> None:
    together: dict[str, Counter[frozenset[str]]] = {}
    for split in ("train", "dev", "test"):
        families = ("T2", "P3", "S8", "P1")
        config = AugmentConfig(families=families, depth=(1, 4), original_share=0)
        if split != "test":
            config = config.model_copy(update={"depth": (1, 2)})
        states = sample_states(HARNESS, count=60, run_seed=2, split=split, config=config)
        together[split] = Counter(
            pair for state in states for pair in TEST_ONLY_COMPOSITIONS if pair <= set(state.families)
        )
    assert together["train"] == together["dev"] == Counter()
    assert set(together["test"]) == set(TEST_ONLY_COMPOSITIONS)


def test_a_depth_that_only_a_held_out_composition_reaches_is_refused_in_training() -> None:
    config = AugmentConfig(families=("T2", "P3"), depth=(2, 2), original_share=0)
    with pytest.raises(BadInput, match="cannot be in one state of split train"):
        sample_state(HARNESS, seed=0, split="train", config=config)
    assert set(sample_state(HARNESS, seed=0, split="test", config=config).families) == {"T2", "P3"}


@pytest.mark.parametrize(
    "settings",
    [
        {"families": ["T9"]},
        {"depth": [3, 2]},
        {"depth": [0, 2]},
        {"weights": {"T9": 1}},
        {"weights": {"T1": 0}},
    ],
)
def test_wrong_settings_are_refused(settings: dict) -> None:
    with pytest.raises(ValidationError):
        AugmentConfig.model_validate(settings)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_states_of_the_full_set_are_distinct_shallow_and_use_every_family(split: str) -> None:
    config = AugmentConfig.full(split, original_share=0)
    tasks = get_domain("live_shop").sample_tasks(split, 13, seed=3)
    states = sample_states(HARNESS, count=250, run_seed=7, split=split, config=config, tasks=tasks)
    assert all(1 <= len(state.families) <= 4 for state in states)
    assert len({state.digest for state in states}) > 235
    used = Counter(family for state in states for family in state.families)
    assert set(used) == set(config.families)
    assert min(used.values()) >= 5


def test_a_state_is_a_function_of_its_task_too() -> None:
    config = AugmentConfig.full("train", original_share=0)
    one, other = get_domain("live_shop").sample_tasks("train", 2, seed=3)
    first = sample_state(HARNESS, seed=4, split="train", config=config, task=one)
    assert first.digest == sample_state(HARNESS, seed=4, split="train", config=config, task=one).digest
    assert first.task == one.digest
    assert first.digest != sample_state(HARNESS, seed=4, split="train", config=config, task=other).digest


def test_uses_of_test_items_are_logged(tmp_path: Path) -> None:
    config = AugmentConfig.full("test", original_share=0)
    states = sample_states(HARNESS, count=3, run_seed=1, split="test", config=config)
    for use in ("hat augment", "evaluate"):
        log_test_use(use, HARNESS, states, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / FILE_NAME).read_text().splitlines()]
    assert [line["use"] for line in lines] == ["hat augment", "evaluate"]
    assert lines[0]["states"] == 3
    assert lines[0]["families"] == Counter(f for state in states for f in state.families)
