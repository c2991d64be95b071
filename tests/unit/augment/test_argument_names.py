"""T2: tools that share an argument's name rename it together or each on its own, and texts stay unambiguous."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hat.augment.sampler
from hat.agent.calls import Call
from hat.augment.codec import UnknownName
from hat.augment.config import AugmentConfig
from hat.augment.plan import expert_gold
from hat.augment.sampler import apply_all, sample_state
from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS, Draw, Transform
from hat.augment.transforms.base import with_codec
from hat.augment.transforms.names import names_apart
from hat.augment.verify import Gold, verify_state
from hat.domains.base import get_domain
from hat.harness.model import Document, Harness
from hat.harness.registry import Registry
from hat.harness.symbols import code_spans

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
ONLY_T2 = AugmentConfig(original_share=0, probability=1, families=("T2",), partial_share=0)
(RENAME,) = (transform for transform in TRANSFORMS if transform.family == "T2")
USERS = [t.name for t in HARNESS.tools if "link_id" in t.input_schema["properties"]]


def saying(harness: Harness, item: str) -> Harness:
    """The harness with one more rule in its skill for stock."""
    skills = tuple(
        replace(s, body=Document(s.body.title, (*s.body.items, item))) if s.name == "availability" else s
        for s in harness.skills
    )
    return replace(harness, skills=skills)


ALONE = saying(HARNESS, "Keep the `link_id` of the question.")
DOTTED = saying(HARNESS, "Keep `check_stock.link_id`, the number of the question.")


@pytest.fixture(scope="module")
def gold() -> Gold:
    return expert_gold(ALONE, get_domain("live_shop"), "dev", count=13)


def renamed(harness: Harness, seed: int, split: str = "train") -> HarnessState:
    draw = Draw(random.Random(seed), split, ONLY_T2)
    state, (step,) = apply_all(HarnessState.original(harness), [(RENAME, draw)])
    assert list(RENAME.check(step.before, step.after)) == []
    return state


def names_of_link(state: HarnessState) -> list[str]:
    return [state.codec.argument(tool, "link_id") for tool in USERS]


def test_a_partial_renaming_may_change_one_tools_argument_and_nothing_else() -> None:
    config = ONLY_T2.model_copy(update={"partial_share": 0.5})
    states = [sample_state(HARNESS, seed=seed, split="train", config=config) for seed in range(200)]
    assert all(state.codec.arguments for state in states)
    single = [state for state in states if len(state.codec.arguments) == 1]
    assert len(single) > 20
    assert {tool for state in single for tool, name in state.codec.arguments if name == "link_id"} == set(
        USERS
    )


def test_in_half_of_the_states_tools_name_a_shared_argument_apart() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(120):
        names = names_of_link(renamed(HARNESS, seed))
        new = [name for name in names if name != "link_id"]
        if len(set(names)) == 1 and new:
            kinds["together"] += 1
        else:
            # Some tools keep the old name; each that does not has one of its own.
            assert len(set(new)) == len(new)
            kinds["one keeps it"] += bool(new) and "link_id" in names
    assert 40 < kinds["together"] < 80
    assert kinds["one keeps it"] > 20


@pytest.mark.parametrize("seed", range(12))
def test_each_tool_is_called_by_its_own_name_for_it_and_not_by_the_old_one(seed: int) -> None:
    state = renamed(HARNESS, seed)
    for tool in USERS:
        call = Call(tool, {"link_id": 3, **({"region": "Fujian"} if tool == "get_shipping" else {})})
        assert state.decode(state.encode(call)) == call
        if state.codec.argument(tool, "link_id") != "link_id":
            with pytest.raises(UnknownName):
                state.decode(Call(tool, {"link_id": 3}))


@given(seed=st.integers(0, 10**6), split=st.sampled_from(["train", "dev", "test"]))
@settings(max_examples=40, deadline=None)
def test_a_name_that_stands_alone_in_a_text_is_one_name_everywhere(seed: int, split: str) -> None:
    state = renamed(ALONE, seed, split)
    (name,) = set(names_of_link(state))
    assert name != "link_id"
    assert f"`{name}`" in state.presented.skill("availability").body.items[-1]
    assert "link_id" not in names_apart(state)


@pytest.mark.parametrize("seed", range(12))
def test_a_reference_with_its_tool_follows_that_tools_name(seed: int) -> None:
    state = renamed(DOTTED, seed)
    (symbol,) = (s for _, s in code_spans(state.presented.skill("availability").body.items[-1]))
    assert symbol == f"check_stock.{state.codec.argument('check_stock', 'link_id')}"


@pytest.mark.parametrize("harness", [HARNESS, ALONE, DOTTED], ids=["shop", "alone", "with its tool"])
def test_every_gate_holds_whether_names_are_apart_or_together(harness: Harness, gold: Gold) -> None:
    states = [sample_state(harness, seed=seed, split="dev", config=ONLY_T2) for seed in range(8)]
    assert [failure for state in states for failure in verify_state(state, harness, ONLY_T2, gold)] == []
    assert {bool(names_apart(state)) for state in states} == ({False} if harness is ALONE else {False, True})


def broken_gates(
    harness: Harness, broken: Transform, gold: Gold, monkeypatch: pytest.MonkeyPatch
) -> set[tuple[str, str]]:
    """Gate and symbol of every failure where the broken transform takes the place of T2."""
    transforms = tuple(broken if t.family == "T2" else t for t in TRANSFORMS)
    monkeypatch.setattr(hat.augment.sampler, "TRANSFORMS", transforms)
    state = sample_state(harness, seed=1, split="dev", config=ONLY_T2)
    return {(failure.gate, failure.symbol) for failure in verify_state(state, harness, ONLY_T2, gold)}


def test_two_names_for_what_stands_alone_in_a_text_are_caught(
    gold: Gold, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Apart(type(RENAME)):  # type: ignore[misc]
        def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
            state = super().apply(state, draw)
            return with_codec(
                state, arguments={**state.codec.arguments, ("check_stock", "link_id"): "another_name"}
            )

    class Unchecked(Apart):
        def check(self, before: HarnessState, after: HarnessState):
            return iter(())

    # By the family's own invariant, and by G2 where that is broken as well.
    assert ("G1", RENAME.summary) in broken_gates(ALONE, Apart(), gold, monkeypatch)
    assert ("G2", "link_id") in broken_gates(ALONE, Unchecked(), gold, monkeypatch)


def test_an_old_name_that_is_left_behind_its_tool_is_caught(
    gold: Gold, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Left(type(RENAME)):  # type: ignore[misc]
        """One tool renames the argument, the others keep it: the bare name is still alive."""

        def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
            return with_codec(state, arguments={("check_stock", "link_id"): "another_name"})

    assert broken_gates(DOTTED, Left(), gold, monkeypatch) == set()
    sound = hat.augment.state._symbol_names
    monkeypatch.setattr(
        hat.augment.state,
        "_symbol_names",
        lambda harness, codec: {k: v for k, v in sound(harness, codec).items() if "." not in k},
    )
    assert ("G2", "check_stock.link_id") in broken_gates(DOTTED, Left(), gold, monkeypatch)
