"""Collapsing: whatever mistakes hooks and the parser refused, what is left is the episode that never made them."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import answer_requests
from hat.augment.state import HarnessState
from hat.domains.base import Task, get_domain
from hat.harness.registry import Registry
from hat.trajectories.present import assistant_text, present
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import select, was_blocked

HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
STATE = HarnessState.original(HARNESS)
TASKS = DOMAIN.sample_tasks("train", 26, 12)
MISTAKES = (
    "<tool_call>{",
    render_call(Call("get_product_info", {"link_id": "three"})),
    render_call(Call("look_it_up", {})),
    render_call(Call("load_skill", {"name": "no-such-skill"})),
    "It is " + "very " * 60 + "cheap.",
)


def expert_texts(task: Task) -> list[str]:
    episode = Episode(STATE, task, DOMAIN)
    DOMAIN.expert().play([episode], DOMAIN.execute, lambda index: None)
    return [assistant_text(turn, STATE) for turn in episode.turns]


def said(task: Task, texts: list[str]) -> Trajectory:
    episode = Episode(STATE, task, DOMAIN)
    for text in texts:
        if not episode.done:
            answer_requests(episode, episode.submit(text), DOMAIN.execute)
    return episode.trajectory("test")


@given(
    task=st.sampled_from(TASKS),
    mistake=st.sampled_from(MISTAKES),
    place=st.integers(0, 1),
    share=st.sampled_from([0.0, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_left_is_the_episode_without_the_mistake(
    task: Task, mistake: str, place: int, share: float
) -> None:
    texts = expert_texts(task)
    clean = said(task, texts)
    stumbling = said(task, [*texts[:place], mistake, *texts[place:]])
    assert stumbling.end == "replied"
    assert was_blocked(stumbling.turns[place])
    (accepted,) = select([stumbling], DOMAIN, HARNESS, whole_retry_share=share, seed=0).accepted
    if any(was_blocked(turn) for turn in accepted.turns):
        assert accepted.turns == stumbling.turns
        assert all(turn.raw is None and not turn.calls for turn in accepted.turns if was_blocked(turn))
    else:
        assert accepted.turns == clean.turns
    again = said(task, [assistant_text(turn, STATE) for turn in accepted.turns])
    assert (again.turns, again.reply) == (accepted.turns, accepted.reply)
    assert present(again, STATE) == present(accepted, STATE)


def test_the_share_kept_whole_is_about_what_was_asked_and_always_the_same_ones() -> None:
    tasks = DOMAIN.sample_tasks("train", 200, 5)
    stumbling = [said(task, ["Just a moment.", *expert_texts(task)]) for task in tasks]
    chosen = select(stumbling, DOMAIN, HARNESS, whole_retry_share=0.25, seed=1)
    assert len(chosen.accepted) == 200
    assert chosen.collapsed + chosen.kept_whole == 200
    assert 30 <= chosen.kept_whole <= 70
    assert chosen == select(stumbling, DOMAIN, HARNESS, whole_retry_share=0.25, seed=1)
    whole = {one.id for one in chosen.accepted if one.turns[0].verdict is not None}
    more = select(stumbling, DOMAIN, HARNESS, whole_retry_share=0.5, seed=1)
    assert whole <= {one.id for one in more.accepted if one.turns[0].verdict is not None}
