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
from hat.harness.model import Binding, Block, Document, Harness, Hook, Limits, Skill, Tool
from hat.harness.registry import Registry
from hat.runs.config import parse_config

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")
HARNESS = REGISTRY.load("live-shop", "1.0.0")


def small_harness() -> Harness:
    """Of no registry, so that it never changes: the digests below are of its states."""

    def tool(name: str, description: str, *arguments: str) -> Tool:
        properties = {argument: {"type": "string"} for argument in arguments}
        schema = {"type": "object", "properties": properties, "required": list(arguments)}
        return Tool(name, description, json.dumps(schema))

    def skill(name: str, intents: tuple[str, ...], *items: str) -> Skill:
        return Skill(
            name, f"About {name}", "reply" if intents else "strategy", intents, Document(name, items)
        )

    return Harness(
        name="small",
        version="1.0.0",
        parent=None,
        changed="First",
        domain="live_shop",
        tools=(
            tool("get_product_info", "Price", "link_id"),
            tool("get_shipping", "Days and fee", "link_id", "region"),
            tool("load_skill", "Read a skill", "name"),
        ),
        skills=(
            skill("item-qa", ("price",), "Call `get_product_info`.", "Give the price."),
            skill("delivery", ("shipping",), "Call `get_shipping` with `region`."),
            skill("polite-decline", (), "Say sorry."),
        ),
        blocks=(
            Block(
                "rules", "prompt", Document("Rules", ("Load one with `load_skill`.", "Never guess a price."))
            ),
            Block("skills", "skills", Document("Skills", ())),
            Block("room", "prompt", Document("Room", ("Host {{ host }}.",))),
        ),
        hooks=(
            Hook("PreToolUse", "*", "arguments_valid", "Wrong: {problem}."),
            Hook("PreReply", "*", "reply_skill_loaded", "Use `load_skill`."),
        ),
        limits=Limits(6, 8, 160, 2),
        layout="markdown",
        bindings=(
            ("get_product_info", Binding("product_info", (("link_id", "link_id"),))),
            ("get_shipping", Binding("shipping_quote", (("link_id", "link_id"), ("region", "region")))),
            ("load_skill", Binding("load_skill", (("name", "skill"),))),
        ),
    )


# SHA-256 over digest and families of the first 60 states of `small_harness`, one a line. A training reads seeds: when
# they come to mean other states, what was measured before holds no longer, and that must not happen unnoticed.
DEFAULT_STATES = {
    "train": "b9997bdbb1d54100a4b384baf893a36b4bd6810173abf781c1a549ff174cac1c",
    "dev": "2675b7d1dca9f5798f515e7ab28ee7dbceaed8b8dac72175710a89ef725c7cf9",
    "test": "55cd1e10cd081441c1703b08ee8c27db4720bbc29558828e6534f0db6e590a00",
}
WITHOUT_PARTIAL_RENAMINGS = {
    "train": "dfdcb5434cb48373e2db041d199283cca407aebc637a16ce281a6a1d7abde9e0",
    "dev": "82726ebe3acd7b7507037f5c7e35d11825011d92ba96496fe4953f4e11ba5d86",
    "test": "e47dbff8673b11a8dbf579c6df45feafe1aee38d40deee75300f658ad3e3bdf7",
}


@pytest.mark.parametrize("split", DEFAULT_STATES)
@pytest.mark.parametrize(
    ("config", "digests"),
    [(AugmentConfig(), DEFAULT_STATES), (AugmentConfig(partial_share=0), WITHOUT_PARTIAL_RENAMINGS)],
    ids=["default", "none partial"],
)
def test_no_state_of_the_default_settings_changes_unnoticed(
    config: AugmentConfig, digests: dict[str, str], split: str
) -> None:
    harness = small_harness()
    states = [sample_state(harness, seed=i, split=split, config=config) for i in range(60)]
    lines = "\n".join(f"{state.digest},{','.join(state.families)}" for state in states)
    assert sha256_text(lines) == digests[split]
    assert all(not state.skipped and not state.only_task for state in states)


@pytest.mark.parametrize(("family", "names"), [("S1", "skills"), ("T1", "tools"), ("T2", "arguments")])
def test_half_of_the_renamings_keep_any_share_of_the_names(family: str, names: str) -> None:
    config = AugmentConfig(original_share=0, families=(family,), probability=1)
    states = [sample_state(HARNESS, seed=seed, split="train", config=config) for seed in range(200)]
    renamed = Counter(len(getattr(state.codec, names)) for state in states)
    whole = {"S1": len(HARNESS.skills), "T1": len(HARNESS.tools)}.get(family, max(renamed))
    assert min(renamed) == 1
    assert set(renamed) == set(range(1, whole + 1))
    if family != "T2":  # of which half are partial in a way of their own
        assert 80 < renamed[whole] < 150


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
