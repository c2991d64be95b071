"""The episode as a state machine: what is executed, what is blocked, how it ends, and that presenting is playing."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.agent.calls import AssistantTurn, Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import answer_requests
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Task, ToolOutcome, get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.trajectories.present import present
from hat.trajectories.record import Trajectory

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
STATE = HarnessState.original(HARNESS)


def a_task(intent: str = "price") -> Task:
    return DOMAIN.sample_tasks("train", 1, seed=11, intents=[intent])[0]


def new_episode(state: HarnessState = STATE, intent: str = "price") -> Episode:
    return Episode(state, a_task(intent), DOMAIN)


def say(episode: Episode, text: str | AssistantTurn) -> str:
    """One turn with its requests executed; returns the last message."""
    answer_requests(episode, episode.submit(text), DOMAIN.execute)
    return episode.messages()[-1]["content"]


def call(name: str, /, **arguments: object) -> str:
    return render_call(Call(name, arguments))


def test_a_valid_call_becomes_a_request_in_domain_terms() -> None:
    episode = new_episode()
    (request,) = episode.submit(call("get_product_info", link_id=3))
    assert (request.operation, dict(request.arguments), request.attempt) == (
        "product_info",
        {"link_id": 3},
        0,
    )
    episode.observe([ToolOutcome("ok", {"price": 9.5, "name": "蜂蜜"})])
    assert episode.messages()[-1] == {
        "role": "tool",
        "tool_call_id": "call_0_0",
        "content": '{"price": 9.5, "name": "蜂蜜"}',
    }


def test_repeating_a_request_counts_its_attempts() -> None:
    episode = new_episode()
    say(episode, call("get_product_info", link_id=3))
    (request,) = episode.submit(call("get_product_info", link_id=3))
    assert request.attempt == 1


def test_a_reply_without_a_reply_skill_is_blocked_and_may_be_mended() -> None:
    episode = new_episode(STATE, "host")
    message = say(episode, "The host is here.")
    assert "load_skill" in message
    assert not episode.done
    say(episode, call("load_skill", name="room-info"))
    say(episode, "The host is here.")
    assert (episode.end, episode.reply) == ("replied", "The host is here.")


def test_a_price_that_no_tool_returned_is_blocked() -> None:
    episode = new_episode()
    say(episode, call("load_skill", name="item-qa"))
    assert "123.4" in say(episode, "It costs 123.4 yuan.")
    assert not episode.done


def test_retries_are_bounded() -> None:
    episode = new_episode()
    for _ in range(HARNESS.limits.max_retries):
        say(episode, "I just guess.")
        assert not episode.done
    say(episode, "I just guess.")
    assert episode.end == "retries_exhausted"


def test_turns_are_bounded() -> None:
    episode = new_episode()
    for _ in range(HARNESS.limits.max_turns):
        assert not episode.done
        say(episode, call("check_stock", link_id=3))
    assert episode.end == "turns_exhausted"


def test_an_empty_reply_ends_the_episode_without_a_second_chance() -> None:
    episode = new_episode()
    say(episode, call("load_skill", name="item-qa"))
    say(episode, "  ")
    assert (episode.end, episode.reply) == ("empty_reply", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (call("fetch_product", link_id=3), "Unknown tool `fetch_product`. Known: `get_product_info`"),
        (call("get product info", link_id=3), "Unknown tool"),
        (call("商品", link_id=3), "Unknown tool"),
        (call("load_skill", name="nothing"), "Unknown skill `nothing`. Known: `after-sales`"),
        (call("get_product_info", link_id="3"), "`link_id` must be integer"),
        (call("get_product_info"), "`link_id` is missing"),
        (call("get_product_info", link_id=3, size=2), "`size` is not an argument"),
        ("<tool_call>{", "not closed"),
    ],
)
def test_a_wrong_call_executes_nothing_and_says_why(text: str, expected: str) -> None:
    episode = new_episode()
    assert episode.submit(text) == ()
    assert expected in episode.messages()[-1]["content"]


def test_of_two_calls_the_valid_one_is_executed() -> None:
    episode = new_episode()
    (request,) = episode.submit(call("get_product_info", link_id="x") + call("get_product_info", link_id=7))
    assert (request.index, request.arguments["link_id"]) == (1, 7)
    episode.observe([ToolOutcome("error", "no such link", "not_found")])
    assert [message["role"] for message in episode.messages()[2:]] == ["assistant", "tool", "tool"]
    assert "not_found" in episode.messages()[-1]["content"]


def test_tool_calls_are_bounded() -> None:
    limits = replace(HARNESS.limits, max_tool_calls=1)
    episode = new_episode(HarnessState.original(replace(HARNESS, limits=limits, files_digest="")))
    say(episode, call("check_stock", link_id=3))
    assert "limit of 1" in say(episode, call("check_stock", link_id=4))


def test_structured_output_is_taken_like_text() -> None:
    text, structured = new_episode(), new_episode()
    say(text, call("check_stock", link_id=3))
    say(structured, AssistantTurn("", (Call("check_stock", {"link_id": 3}),)))
    assert text.messages() == structured.messages()


def test_an_unknown_check_is_refused_before_the_first_turn() -> None:
    hooks = (replace(HARNESS.hooks[0], check="mood"),)
    with pytest.raises(BadInput, match="unknown check 'mood'"):
        new_episode(HarnessState.original(replace(HARNESS, hooks=hooks, files_digest="")))


def test_an_old_name_is_unknown_under_a_state_that_renamed_it() -> None:
    config = AugmentConfig(original_share=0, families=("T1",), probability=1)
    state = sample_state(HARNESS, seed=3, split="train", config=config)
    episode = new_episode(state)
    assert episode.submit(call("get_product_info", link_id=3)) == ()
    message = episode.messages()[-1]["content"]
    assert state.codec.tool("get_product_info") in message


@given(
    seed=st.integers(0, 10**6),
    intent=st.sampled_from(["price", "compare", "returns", "missing_link", "host"]),
)
@settings(max_examples=30, deadline=None)
def test_what_is_played_is_what_is_presented_and_records_round_trip(seed: int, intent: str) -> None:
    state = sample_state(HARNESS, seed=seed, split="dev", config=AugmentConfig(original_share=0))
    episode = new_episode(state, intent)
    DOMAIN.expert().play([episode], DOMAIN.execute, lambda index: None)
    trajectory = episode.trajectory("expert")
    assert episode.end == "replied"
    assert present(trajectory, state) == episode.messages()
    assert Trajectory.from_json(trajectory.to_json()) == trajectory
    assert DOMAIN.score(trajectory.task, trajectory, HARNESS).accuracy == 1
