"""Twins in training: pairs are played, stored and learnt from together, or not at all."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from hat.agent.episode import Episode
from hat.agent.policy import Executor
from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.training.config import SFTConfig
from hat.training.metrics import read_step_log
from hat.training.packing import SegmentWeights, pack_loss
from hat.training.plan import PlannedPack, plan_packs
from hat.training.sft import PackCollator, train_sft
from hat.training.twin_plan import mix, plan_twin_packs
from hat.trajectories.record import Trajectory
from hat.trajectories.storage import read_trajectories, write_trajectories
from hat.trajectories.twins import TWINS_FILE, PlayedPair, play_pairs, read_pairs, training_pairs, write_pairs

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
PAIRS = training_pairs(HARNESS, DOMAIN, 24, seed=0)


@pytest.fixture(scope="module")
def played() -> list[PlayedPair]:
    return play_pairs(DOMAIN.expert(), PAIRS, DOMAIN)


def test_the_expert_gives_every_pair_and_they_share_few_prompts(played: list[PlayedPair]) -> None:
    assert [one.pair.id for one in played] == [pair.id for pair in PAIRS]
    prompts = {(m.state.digest, tuple(m.task.session.items())) for pair in PAIRS for _, m in pair.members}
    assert len(prompts) <= 2 * len({(pair.kind, pair.name) for pair in PAIRS})
    assert {member.task.split for pair in PAIRS for _, member in pair.members} == {"train"}


def test_a_pair_of_which_one_member_fails_is_left_out_whole() -> None:
    class FailsTwins:
        name = "fails-twins"

        def play(
            self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]
        ) -> None:
            blind = DOMAIN.twins.blind(HARNESS)
            for episode in episodes:
                policy = (
                    blind if episode.task.id.endswith("C1-check_stock+find_coupon/twin") else DOMAIN.expert()
                )
                policy.play([episode], execute, on_done)

    kept = play_pairs(FailsTwins(), PAIRS, DOMAIN)
    assert {pair.id for pair in PAIRS} - {one.pair.id for one in kept} == {
        pair.id for pair in PAIRS if pair.name == "check_stock+find_coupon"
    }
    assert 0 < len(kept) < len(PAIRS)


def test_pairs_survive_their_file_and_a_lost_member_or_other_pairs_are_refused(
    tmp_path: Path, played: list[PlayedPair]
) -> None:
    write_pairs(tmp_path, played[:5])
    again = read_pairs(tmp_path, training_pairs(HARNESS, DOMAIN, 24, seed=0))
    assert [(one.plain, one.twin) for one in again] == [(one.plain, one.twin) for one in played[:5]]
    with pytest.raises(BadInput, match="belong to no pair"):
        read_pairs(tmp_path, PAIRS[:2])
    members = read_trajectories(tmp_path / TWINS_FILE)
    write_trajectories(tmp_path / TWINS_FILE, members[:-1])
    with pytest.raises(BadInput, match="lacks a member"):
        read_pairs(tmp_path, PAIRS)
    moved = replace(members[0], state=replace(members[0].state, digest="0" * 64))
    write_trajectories(tmp_path / TWINS_FILE, [moved, *members[1:]])
    with pytest.raises(BadInput, match="another state"):
        read_pairs(tmp_path, PAIRS)


def test_each_pack_holds_both_members_of_its_pairs(played: list[PlayedPair]) -> None:
    packs = plan_twin_packs(played, 2)
    assert sum(len(pack.trajectories) for pack in packs) == len(played)
    for pack in packs:
        assert pack.twin is not None
        assert pack.state is not None
        assert pack.twin.state is not None
        assert 1 <= len(pack.trajectories) <= 2
        questions = [[one.task.question for one in half.trajectories] for half in (pack, pack.twin)]
        assert questions[0] == questions[1]
        assert {one.state.digest for one in pack.trajectories} == {pack.state.digest}
        assert {one.state.digest for one in pack.twin.trajectories} == {pack.twin.state.digest}


def test_without_twins_the_plan_is_what_it_was(played: list[PlayedPair]) -> None:
    packs = [PlannedPack(number, ()) for number in range(9)]
    twins = plan_twin_packs(played, 5)
    assert mix(packs, [], 1) == packs
    mixed = mix(packs, twins, 1)
    assert mixed == mix(packs, twins, 1)
    assert mixed[:9] != packs
    assert [pack for pack in mixed if pack.twin is None].__len__() == 9


def test_a_step_on_twins_is_the_mean_of_both_members_losses(
    tmp_path: Path,
    tiny_model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    played: list[PlayedPair],
) -> None:
    pack = plan_twin_packs(played[:1], 1)[0]
    collate = PackCollator([pack], HARNESS, AugmentConfig(), tokenizer, SegmentWeights())
    inputs = collate([{"pack": 0}])
    with torch.no_grad():
        halves = [pack_loss(tiny_model, half).item() for half in (inputs, inputs["twin"])]
    assert halves[0] != halves[1]
    tiny_model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    log = tmp_path / "log.jsonl"
    config = SFTConfig(learning_rate=1e-4, warmup_share=0)
    train_sft(
        tmp_path / "base",
        [pack],
        HARNESS,
        AugmentConfig(),
        config,
        work=tmp_path / "work",
        log=log,
        seed=0,
    )
    (line,) = read_step_log(log)
    # The Trainer computes in bf16.
    assert line["loss"] == pytest.approx(sum(halves) / 2, rel=0.01)
    assert line["scored_tokens"] == sum(
        int(half["loss_weights"].count_nonzero()) for half in (inputs, inputs["twin"])
    )


def test_twins_are_learnt_beside_the_other_packs(
    tmp_path: Path,
    tiny_model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    played: list[PlayedPair],
) -> None:
    tasks = DOMAIN.sample_tasks("train", 3, 1, session=DOMAIN.sample_session(0, "train"))
    episodes = [Episode(HarnessState.original(HARNESS), task, DOMAIN) for task in tasks]
    DOMAIN.expert().play(episodes, DOMAIN.execute, lambda index: None)
    trajectories: list[Trajectory] = [episode.trajectory() for episode in episodes]
    packs = mix(plan_packs(trajectories, [0, 1], 1, 1, seed=0), plan_twin_packs(played[:2], 1), 0)
    tiny_model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    log = tmp_path / "log.jsonl"
    train_sft(
        tmp_path / "base",
        packs,
        HARNESS,
        AugmentConfig(),
        SFTConfig(),
        work=tmp_path / "work",
        log=log,
        seed=0,
    )
    assert len(read_step_log(log)) == 4
