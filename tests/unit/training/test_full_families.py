"""`families: full` in training: packs of supervised training and groups of rollouts can be made of such states."""

from pathlib import Path

from transformers import PreTrainedTokenizerFast

from hat.agent.episode import Episode
from hat.augment.config import AugmentConfig
from hat.augment.plan import sample_states
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.harness.registry import Registry
from hat.runs.config import parse_config
from hat.training.config import RLConfig
from hat.training.packing import SegmentWeights, build_pack
from hat.training.rollouts import plan_groups

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
FULL = parse_config({"augment": {"families": "full", "original_share": 0}}, where="test").augment


def test_trajectories_of_one_session_share_a_prefix_under_every_state(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    session = DOMAIN.sample_session(3, "train")
    tasks = DOMAIN.sample_tasks("train", 3, seed=2, session=session)
    episodes = [Episode(HarnessState.original(HARNESS), task, DOMAIN) for task in tasks]
    DOMAIN.expert().play(episodes, DOMAIN.execute, lambda index: None)
    played = [episode.trajectory() for episode in episodes]
    states = sample_states(HARNESS, count=40, run_seed=4, split="train", config=FULL)
    assert any(state.user_blocks for state in states)
    assert any(state.codec.envelope for state in states)
    for state in states:
        pack = build_pack(played[:2], state, tokenizer, SegmentWeights(), played[2:])
        assert len(pack.branches) == 3
        assert all(any(branch.weights) for branch in pack.branches)


def test_groups_of_rollouts_have_gold_under_every_state() -> None:
    config = RLConfig(steps=3, augmented_share=1.0)
    groups = plan_groups(HARNESS, DOMAIN, config, FULL, seed=5)
    assert all(group.gold_reply for group in groups)
    assert all(group.state.families for group in groups)
    assert AugmentConfig().families != FULL.families
