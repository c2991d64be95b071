"""Harness states: deterministic, decodable, and split so that nothing of dev or test is seen in training."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.agent.calls import Call, parse_assistant, render_call
from hat.augment.banks import bank
from hat.augment.codec import Codec, UnknownName
from hat.augment.config import FAMILIES, AugmentConfig
from hat.augment.naming import words_of
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.harness.render import render_system_prompt

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")
HARNESS = REGISTRY.load("live-shop", "1.0.0")
AUGMENTED = AugmentConfig(original_share=0)
SESSION = {"host": "Lin", "ends_at": "22:30", "showing": 12}


@given(seed=st.integers(0, 10**9), split=st.sampled_from(["train", "dev", "test"]))
@settings(max_examples=40, deadline=None)
def test_the_same_inputs_give_the_same_state(seed: int, split: str) -> None:
    first = sample_state(HARNESS, seed=seed, split=split, config=AUGMENTED)
    again = sample_state(HARNESS, seed=seed, split=split, config=AUGMENTED)
    assert first.digest == again.digest
    assert first.families
    assert set(first.families) <= set(FAMILIES)


@given(seed=st.integers(0, 10**9), link=st.integers(1, 999), text=st.text(max_size=30))
@settings(max_examples=60, deadline=None)
def test_presenting_and_decoding_a_call_is_identity(seed: int, link: int, text: str) -> None:
    state = sample_state(HARNESS, seed=seed, split="train", config=AUGMENTED)
    for call in (
        Call("get_shipping", {"link_id": link, "region": text}),
        Call("load_skill", {"name": "item-qa"}),
    ):
        (read,) = parse_assistant(render_call(state.encode(call))).calls
        assert state.decode(read) == call


def test_a_name_that_was_renamed_away_is_unknown() -> None:
    codec = Codec(
        tools={"get_price": "fetch_cost"}, arguments={("get_price", "id"): "no"}, skills={"qa": "help"}
    )
    assert codec.decode(Call("fetch_cost", {"no": 3}), {}) == Call("get_price", {"id": 3})
    with pytest.raises(UnknownName):
        codec.decode(Call("get_price", {"no": 3}), {})
    with pytest.raises(UnknownName):
        codec.decode(Call("fetch_cost", {"id": 3}), {})
    with pytest.raises(UnknownName):
        codec.decode(Call("load", {"name": "qa"}), {"load": "name"})


def test_an_argument_called_like_a_word_does_not_rename_the_word() -> None:
    config = AugmentConfig(original_share=0, families=("T2",), probability=1, partial_share=0)
    state = sample_state(HARNESS, seed=1, split="train", config=config)
    assert state.codec.argument("load_skill", "name") != "name"
    described = {tool.name: tool.description for tool in state.presented.tools}
    assert described["search_products"] == "Find the link of a product by its name"


def test_renaming_reaches_prompt_skill_and_hook_message() -> None:
    config = AugmentConfig(original_share=0, families=("T1",), probability=1, partial_share=0)
    state = sample_state(HARNESS, seed=3, split="train", config=config)
    new = state.codec.tool("load_skill")
    assert f"`{new}`" in render_system_prompt(state.presented, SESSION)
    assert any(f"`{new}`" in hook.message for hook in state.presented.hooks)
    assert state.codec.tool("get_product_info") in state.presented.skill("compare-items").body.items[0]


def test_share_of_the_original_harness_is_as_configured() -> None:
    config = AugmentConfig(original_share=0.25)
    states = [sample_state(HARNESS, seed=seed, split="train", config=config) for seed in range(400)]
    unchanged = [state for state in states if not state.families]
    assert 70 <= len(unchanged) <= 130
    assert {state.digest for state in unchanged} == {HarnessState.original(HARNESS).digest}


def test_no_word_of_a_held_out_name_is_used_in_training() -> None:
    used = {
        split: {
            word
            for synonyms in bank("vocabulary").values()
            for name in synonyms[split]
            for word in words_of(name)
        }
        for split in ("train", "dev", "test")
    }
    assert not used["train"] & used["dev"]
    assert not used["train"] & used["test"]
    assert not used["dev"] & used["test"]


def test_the_unseen_layout_is_refused_outside_of_the_test_split() -> None:
    config = AugmentConfig(original_share=0, families=("P3",), probability=1, layouts=("markdown", "xml"))
    with pytest.raises(BadInput, match="test split"):
        sample_state(HARNESS, seed=0, split="train", config=config)
    assert sample_state(HARNESS, seed=0, split="test", config=config).presented.layout == "xml"


def test_every_layout_shows_the_same_items() -> None:
    from dataclasses import replace

    items = [item for block in HARNESS.blocks if block.id == "rules" for item in block.document.items]
    for layout in ("markdown", "plain", "json", "xml"):
        prompt = render_system_prompt(replace(HARNESS, layout=layout), SESSION)
        assert all(item in prompt for item in items)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_states_of_every_version_are_distinct(version: str) -> None:
    harness: Harness = REGISTRY.load("live-shop", version)
    digests = {sample_state(harness, seed=seed, split="dev", config=AUGMENTED).digest for seed in range(60)}
    assert len(digests) >= 55
