"""What carries a loss: turns that took effect do, a turn that a hook blocked is context only."""

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.faults import FaultSchedule, with_faults
from hat.agent.policy import answer_requests
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.harness.registry import Registry
from hat.training.packing import Branch, SegmentWeights, build_pack
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import select

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
ORIGINAL = HarnessState.original(HARNESS)
TOO_EARLY = "I will look that up."


def corrected() -> Trajectory:
    """A price question whose first reply comes without a skill and is blocked."""
    (task,) = DOMAIN.sample_tasks("train", 1, 8, intents=["price"])
    link, price = task.slots["link"], next(fact.value for fact in task.facts)
    episode = Episode(ORIGINAL, task, DOMAIN)
    for text in (
        TOO_EARLY,
        render_call(Call("load_skill", {"name": "item-qa"})),
        render_call(Call("get_product_info", {"link_id": link})),
        f"Link {link} costs {price} yuan.",
    ):
        answer_requests(episode, episode.submit(text), DOMAIN.execute)
    assert episode.end == "replied"
    return episode.trajectory("test")


def kept(share: float) -> Trajectory:
    (accepted,) = select([corrected()], DOMAIN, HARNESS, whole_retry_share=share, seed=0).accepted
    return accepted


def texts(branch: Branch, tokenizer: PreTrainedTokenizerFast) -> tuple[str, str]:
    """All of a branch's text, and the part of it that carries a loss."""
    scored = [token for token, weight in zip(branch.token_ids, branch.weights, strict=True) if weight]
    return tokenizer.decode(list(branch.token_ids)), tokenizer.decode(scored)


@pytest.mark.parametrize("seed", [None, 3, 4])
def test_a_blocked_turn_kept_whole_is_shown_and_not_learnt(
    seed: int | None, tokenizer: PreTrainedTokenizerFast
) -> None:
    state = (
        ORIGINAL
        if seed is None
        else sample_state(HARNESS, seed=seed, split="train", config=AugmentConfig(original_share=0))
    )
    whole = kept(share=1.0)
    assert whole.turns[0].verdict is not None
    (branch,) = build_pack([whole], state, tokenizer, SegmentWeights()).branches
    shown, learnt = texts(branch, tokenizer)
    assert TOO_EARLY in shown
    assert TOO_EARLY not in learnt
    assert whole.reply in learnt
    for turn in whole.turns[1:3]:
        assert render_call(state.encode(turn.calls[0])) in learnt


def test_a_collapsed_trajectory_does_not_show_the_mistake_at_all(tokenizer: PreTrainedTokenizerFast) -> None:
    (branch,) = build_pack([kept(share=0.0)], ORIGINAL, tokenizer, SegmentWeights()).branches
    shown, learnt = texts(branch, tokenizer)
    assert TOO_EARLY not in shown
    assert kept(share=0.0).reply in learnt


def test_an_opening_reaches_to_the_first_turn_that_is_learnt(tokenizer: PreTrainedTokenizerFast) -> None:
    for share in (0.0, 1.0):
        pack = build_pack([kept(0.0)], ORIGINAL, tokenizer, SegmentWeights(), openings=[kept(share)])
        _, learnt = texts(pack.branches[1], tokenizer)
        assert "item-qa" in learnt
        assert "get_product_info" not in learnt
        assert TOO_EARLY not in learnt


def test_a_call_that_met_a_fault_and_the_one_after_it_are_both_learnt(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    (task,) = DOMAIN.sample_tasks("train", 1, 8, intents=["stock"])
    episode = Episode(ORIGINAL, task, DOMAIN)
    execute = with_faults(DOMAIN.execute, {task.id: FaultSchedule(0, kinds=("timeout",))})
    DOMAIN.expert().play([episode], execute, lambda index: None)
    (branch,) = build_pack([episode.trajectory()], ORIGINAL, tokenizer, SegmentWeights()).branches
    shown, learnt = texts(branch, tokenizer)
    assert learnt.count('"check_stock"') == 2
    assert "did not answer in time" in shown
    assert "did not answer in time" not in learnt
