"""Hooks under K3 and K4: probes with one fault get the same verdict, and in the end the same replies are accepted."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import answer_requests
from hat.augment.config import AugmentConfig
from hat.augment.sampler import apply_all
from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS, Draw
from hat.domains.base import Task, get_domain
from hat.harness.registry import Registry

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
ORIGINAL = HarnessState.original(HARNESS)
DOMAIN = get_domain("live_shop")
LOAD = Call("load_skill", {"name": "item-qa"})


def a_task() -> Task:
    return DOMAIN.sample_tasks("dev", 1, seed=5, intents=["price"])[0]


def under(*families: str, seed: int = 0) -> HarnessState:
    draw = Draw(random.Random(seed), "test", AugmentConfig.full("test", partial_share=0))
    chosen = [t for family in families for t in TRANSFORMS if t.family == family]
    state, steps = apply_all(replace(ORIGINAL, split="test"), [(transform, draw) for transform in chosen])
    assert len(steps) == len(families)
    return state


def play(state: HarnessState, *turns: Call | str) -> Episode:
    """The episode in which these turns are said in the state's own names, as far as it goes on."""
    episode = Episode(state, a_task(), DOMAIN)
    for turn in turns:
        if not episode.done:
            text = turn if isinstance(turn, str) else render_call(state.encode(turn))
            answer_requests(episode, episode.submit(text), DOMAIN.execute)
    return episode


def gold() -> tuple[Call, str]:
    task = a_task()
    link, fact = task.slots["link"], task.facts[0]
    return Call("get_product_info", {"link_id": link}), f"Link {link} costs {fact.value} yuan."


LOOK_UP, REPLY = gold()
PROBES = {
    "right": (LOAD, LOOK_UP, REPLY),
    "no skill": (LOOK_UP, REPLY),
    "too long": (LOAD, LOOK_UP, REPLY + " So nice." * 40),
    "price from nowhere": (LOAD, LOOK_UP, "It costs 9999 yuan."),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("probe", PROBES)
def test_checks_that_commute_give_a_single_fault_the_same_verdict(probe: str, seed: int) -> None:
    turns = PROBES[probe]
    before, after = play(ORIGINAL, *turns), play(under("K3", seed=seed), *turns)
    assert [turn.verdict for turn in before.turns] == [turn.verdict for turn in after.turns]
    assert (before.end, before.reply) == (after.end, after.reply)


def test_two_faults_are_named_in_another_order_and_accepted_when_both_are_mended() -> None:
    turns = (LOOK_UP, "It costs 9999 yuan.", LOAD, "It costs 9999 yuan.", REPLY)
    checks = set()
    for seed in range(6):
        state = under("K3", seed=seed)
        episode = play(state, LOOK_UP, "It costs 9999 yuan.")
        assert episode.turns[-1].verdict is not None
        checks.add(episode.turns[-1].verdict.check)
        assert play(state, *turns).reply == REPLY
    assert checks == {"reply_skill_loaded", "price_claims_match_results"}


WRONG = (
    Call("get_product_info", {}),
    Call("get_product_info", {"link_id": "three"}),
    Call("get_product_info", {"link_id": 3, "color": "red"}),
    Call("load_skill", {}),
)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_deferred_check_blocks_the_reply_until_the_call_is_right(wrong: Call) -> None:
    state = under("K4")
    right = LOAD if wrong.name == "load_skill" else LOOK_UP
    rest = LOOK_UP if right is LOAD else LOAD
    early = play(state, rest, wrong, REPLY)
    assert early.turns[-1].verdict is not None
    assert early.turns[-1].verdict.check in ("arguments_valid", "reply_skill_loaded")
    mended = play(state, rest, wrong, REPLY, right, REPLY)
    assert (mended.end, mended.reply) == ("replied", REPLY)
    same = play(ORIGINAL, rest, wrong, right, REPLY)
    assert (same.end, same.reply) == (mended.end, mended.reply)


def test_a_wrong_call_has_no_effect_and_names_nothing_that_the_model_does_not_see() -> None:
    state = under("K4", "T2")
    episode = play(state, LOAD, Call("get_product_info", {}))
    (observation,) = episode.turns[-1].observations
    assert (observation.kind, observation.code) == ("error", "invalid_arguments")
    assert "link_id" not in episode.messages()[-1]["content"]


@pytest.mark.parametrize("families", [("K4", "T2"), ("K4", "T5"), ("T5", "T2")])
def test_what_is_wrong_with_a_call_is_said_in_presented_names(families: tuple[str, ...]) -> None:
    state = under(*families)
    shown = state.codec.argument_path("get_product_info", "link_id")
    assert shown != "link_id"
    if "K4" in families:  # said before the reply, when nothing else tells whose argument it is
        shown = f"{state.codec.tool('get_product_info')}.{shown}"
    blocked = play(state, LOAD, Call("get_product_info", {}), REPLY)
    said = [message["content"] for message in blocked.messages()[-3:]]
    assert any(f"`{shown}` is missing" in text for text in said)


@pytest.mark.parametrize("seed", range(4))
def test_a_deferred_check_names_the_tools_argument_in_presented_names_whatever_is_wrong_with_it(
    seed: int,
) -> None:
    state = under("K4", "T1", "T2", seed=seed)
    tool = state.codec.tool("get_shipping")
    region = state.codec.argument("get_shipping", "region")
    wrong = {
        f"`{tool}.{region}` is missing": {"link_id": 3},
        f"`{tool}.{region}` must be string": {"link_id": 3, "region": 7},
        f"`{tool}.color` is not an argument": {"link_id": 3, "region": "Fujian", "color": "red"},
    }
    for problem, arguments in wrong.items():
        blocked = play(state, LOAD, Call("get_shipping", arguments), REPLY)
        said = blocked.messages()[-1]["content"]
        assert problem in said
        assert "get_shipping" not in said
