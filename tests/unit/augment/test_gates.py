"""The gates hold for what the sampler makes, and catch states that were broken on purpose."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hat.augment.config import AugmentConfig
from hat.augment.folder import read_states_document, resample, write_states
from hat.augment.plan import expert_gold, prove_states, sample_states
from hat.augment.state import HarnessState
from hat.augment.verify import Gold, verify_state
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.harness.model import Document, Harness
from hat.harness.registry import Registry

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")
HARNESS = REGISTRY.load("live-shop", "1.0.0")
CONFIG = AugmentConfig(original_share=0, probability=1, partial_share=0)


@pytest.fixture(scope="module")
def gold() -> Gold:
    return expert_gold(HARNESS, get_domain("live_shop"), "dev", count=13)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_all_gates_hold_for_sampled_states(version: str, split: str) -> None:
    harness = REGISTRY.load("live-shop", version)
    config = AugmentConfig(original_share=0)
    states = sample_states(harness, count=15, run_seed=3, split=split, config=config)
    proven = expert_gold(harness, get_domain("live_shop"), split, count=13)
    report = prove_states(states, harness, config, proven).report()
    assert report["failures"] == []
    assert report["passed"] == 15


def one_state() -> HarnessState:
    return sample_states(HARNESS, count=1, run_seed=5, split="dev", config=CONFIG)[0]


def with_codec(state: HarnessState, **changes: dict) -> HarnessState:
    return replace(state, codec=replace(state.codec, **changes))


def skip_one_rename_in_a_hook_message(state: HarnessState) -> HarnessState:
    old = "load_skill"
    hooks = tuple(
        replace(hook, message=f"Call `{old}`.") if hook.check == "reply_skill_loaded" else hook
        for hook in state.presented.hooks
    )
    broken = replace(state)
    # `presented` is computed from the canonical harness; a broken renderer is what this stands for.
    broken.__dict__["presented"] = replace(state.presented, hooks=hooks)
    return broken


def collide_two_tools(state: HarnessState) -> HarnessState:
    first, second, *_ = state.codec.tools
    return with_codec(state, tools={**state.codec.tools, second: state.codec.tools[first]})


def illegal_skill_name(state: HarnessState) -> HarnessState:
    first = next(iter(state.codec.skills))
    return with_codec(state, skills={**state.codec.skills, first: "直播 skill"})


def drop_a_required_argument(state: HarnessState) -> HarnessState:
    tools = tuple(
        replace(tool, input_schema_json='{"type": "object", "properties": {}, "additionalProperties": false}')
        if tool.name == "get_shipping"
        else tool
        for tool in state.canonical.tools
    )
    return replace(state, canonical=replace(state.canonical, tools=tools))


def change_a_literal(state: HarnessState) -> HarnessState:
    def body(document: Document) -> Document:
        return Document(document.title, tuple(item.replace("30 days", "31 days") for item in document.items))

    skills = tuple(replace(skill, body=body(skill.body)) for skill in state.canonical.skills)
    return replace(state, canonical=replace(state.canonical, skills=skills))


def lose_a_reply_skill(state: HarnessState) -> HarnessState:
    skills = tuple(skill for skill in state.canonical.skills if "stock" not in skill.intents)
    return replace(state, canonical=replace(state.canonical, skills=skills))


def change_what_was_not_declared(state: HarnessState) -> HarnessState:
    limits = replace(state.canonical.limits, max_turns=9)
    return replace(state, canonical=replace(state.canonical, limits=limits))


def lose_a_rule(state: HarnessState) -> HarnessState:
    blocks = tuple(
        replace(block, document=Document(block.document.title, block.document.items[1:]))
        for block in state.canonical.blocks
    )
    return replace(state, canonical=replace(state.canonical, blocks=blocks))


@pytest.mark.parametrize(
    ("break_it", "gate"),
    [
        (skip_one_rename_in_a_hook_message, "G2"),
        (collide_two_tools, "G2"),
        (illegal_skill_name, "G2"),
        (drop_a_required_argument, "G3"),
        (change_a_literal, "G1"),
        (lose_a_reply_skill, "G1"),
        (change_what_was_not_declared, "G1"),
        (lose_a_rule, "G1"),
        (collide_two_tools, "G5"),
    ],
)
def test_a_broken_state_is_caught(
    break_it: Callable[[HarnessState], HarnessState], gate: str, gold: Gold
) -> None:
    sound = one_state()
    assert verify_state(sound, HARNESS, CONFIG, gold) == []
    failures = verify_state(break_it(sound), HARNESS, CONFIG, gold)
    assert gate in {failure.gate for failure in failures}
    assert all(failure.seed == sound.seed and failure.message for failure in failures)


def test_a_folder_of_states_is_sampled_again_from_its_seeds(tmp_path: Path) -> None:
    states = sample_states(HARNESS, count=5, run_seed=1, split="train", config=CONFIG)
    write_states(tmp_path, HARNESS, CONFIG, states)
    _, again = resample(read_states_document(tmp_path), HARNESS, tmp_path)
    assert [state.digest for state in again] == [state.digest for state in states]


def test_states_of_another_harness_or_other_code_are_refused(tmp_path: Path) -> None:
    states = sample_states(HARNESS, count=2, run_seed=1, split="train", config=CONFIG)
    write_states(tmp_path, HARNESS, CONFIG, states)
    other: Harness = REGISTRY.load("live-shop", "1.1.0")
    with pytest.raises(BadInput, match="belong to harness digest"):
        resample(read_states_document(tmp_path), other, tmp_path)
    document = read_json(tmp_path / "states.json")
    document["states"][1]["digest"] = "0" * 64
    write_json_atomic(tmp_path / "states.json", document)
    with pytest.raises(BadInput, match="now has digest"):
        list(resample(read_states_document(tmp_path), HARNESS, tmp_path)[1])


def test_a_harness_that_the_expert_cannot_work_under_is_refused() -> None:
    skills = tuple(
        replace(skill, intents=()) if "stock" in skill.intents else skill for skill in HARNESS.skills
    )
    with pytest.raises(BadInput):
        expert_gold(replace(HARNESS, skills=skills), get_domain("live_shop"), "dev", count=13)
