"""RL beyond a plain run: the compute-matched arm, replay, going on from a checkpoint, broken reward functions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback

from hat.agent.episode import Episode
from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Scores, get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.training import rl, rollouts
from hat.training.collator import PackCollator, step_loss
from hat.training.config import RLConfig
from hat.training.metrics import read_step_log
from hat.training.packing import SegmentWeights
from hat.training.plan import plan_packs
from hat.training.rl import refusals
from hat.training.rollouts import Group, ScoredRollout, plan_groups
from hat.training.segments import supervised_loss
from hat.trajectories.record import Trajectory, Turn, Verdict

HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
CONFIG = RLConfig(
    steps=3,
    groups_per_step=2,
    candidates=1,
    group_size=2,
    max_new_tokens=6,
    learning_rate=1e-3,
    intents=("host",),
    checkpoint_steps=1,
)


@pytest.fixture
def domain() -> Domain:
    return get_domain("live_shop")


@pytest.fixture
def groups(domain: Domain) -> list[Group]:
    return plan_groups(HARNESS, domain, CONFIG, AugmentConfig(), seed=3)


@pytest.fixture
def folder(tmp_path: Path, tiny_model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> Path:
    tiny_model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def replayed(domain: Domain, tokenizer: PreTrainedTokenizerFast) -> PackCollator:
    tasks = domain.sample_tasks("train", 4, 1, session=domain.sample_session(0, "train"))
    episodes = [Episode(HarnessState.original(HARNESS), task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    packs = plan_packs([episode.trajectory() for episode in episodes], [None, 1, 2], 1, 0, seed=0)
    return PackCollator(packs, HARNESS, AugmentConfig(), tokenizer, SegmentWeights())


def train(
    folder: Path,
    groups: Sequence[Group],
    domain: Domain,
    config: RLConfig,
    name: str = "work",
    **more: Any,
) -> tuple[Any, list[Any]]:
    log = folder.parent / f"{name}.jsonl"
    model, _ = rl.train_rl(folder, groups, domain, config, work=folder.parent / name, log=log, seed=1, **more)
    return model, read_step_log(log)


def half_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores by which the rollouts at even positions are right in every respect, whatever a random model said."""
    score = rollouts.scores_of

    def made(domain: Any, episode: Episode, policy: str = "") -> Scores:
        found = score(domain, episode, policy)
        if not policy:
            return found
        value = 1 - int(episode.id.rsplit("/", 1)[1]) % 2
        return replace(
            found,
            accuracy=value,
            effectiveness=float(value),
            tool_rationality=float(value),
            skill_selection=float(value),
        )

    def reason(trajectory: Trajectory) -> str | None:
        assert trajectory.scores is not None
        return None if trajectory.scores.accuracy else "inaccurate"

    monkeypatch.setattr(rollouts, "scores_of", made)
    monkeypatch.setattr(rollouts, "rejection_reason", reason)
    monkeypatch.setattr(rollouts, "was_blocked", lambda turn: False)


def learnt_tokens(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    loss_of = rl.EpisodeTrainer._loss_of

    def keep(self: Any, model: Any, inputs: dict[str, Any]) -> Any:
        loss = loss_of(self, model, inputs)
        seen.append({**inputs, "loss": loss.item()})
        return loss

    monkeypatch.setattr(rl.EpisodeTrainer, "_loss_of", keep)
    return seen


def test_the_compute_matched_arm_learns_from_the_same_rollouts_but_only_those_that_are_right(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_right(monkeypatch)
    config = CONFIG.model_copy(update={"steps": 1, "checkpoint_steps": 0})
    seen = learnt_tokens(monkeypatch)
    _, (by_rl,) = train(folder, groups, domain, config, "rl")
    other = config.model_copy(update={"method": "rejection_sft"})
    model, (line,) = train(folder, groups, domain, other, "sft")
    assert line["groups"] == by_rl["groups"]
    assert line["accepted_share"] == by_rl["accepted_share"] == 0.5
    assert line["grad_norm"] > 0
    for inputs in seen:
        learnt, segments = inputs["learnt"], inputs["segments"]
        assert torch.equal(learnt[0] > 0, segments[0] > 0)
        assert not learnt[1].any()
    assert all(inputs["loss"] > 0 for inputs in seen[2:])
    before = LlamaForCausalLM.from_pretrained(folder)
    assert not torch.equal(before.lm_head.weight, model.lm_head.weight)


def test_the_supervised_loss_is_the_mean_over_accepted_rollouts_tokens() -> None:
    log_probs = torch.tensor([[-1.0, -2.0, -9.0], [-4.0, float("-inf"), -6.0]], requires_grad=True)
    learnt = torch.tensor([[1, 1, 0], [0, 0, 0]])
    loss = supervised_loss(log_probs, learnt)
    loss.backward()
    assert loss.item() == pytest.approx(1.5 / 2)
    assert log_probs.grad is not None
    assert log_probs.grad.tolist() == [[-0.25, -0.25, 0.0], [0.0, 0.0, 0.0]]


def rollout(trajectory: Any, segments: list[int]) -> ScoredRollout:
    size = len(segments)
    return ScoredRollout("r", 0, 0, [1], [2] * size, segments, [1] * size, [0.0] * size, {}, trajectory)


def trajectory_of(turns: Sequence[Turn], accuracy: int, answerable: bool, refused: bool) -> Trajectory:
    domain = get_domain("live_shop")
    task = replace(domain.sample_tasks("train", 1, 1)[0], answerable=answerable)
    episode = Episode(HarnessState.original(HARNESS), task, domain)
    scores = Scores(accuracy, float(accuracy), 1.0, 1.0, True, refused, True)
    return replace(episode.trajectory(), turns=tuple(turns), end="replied", reply="x", scores=scores)


def test_a_blocked_turn_is_not_learnt_from_and_neither_is_a_wrong_rollout() -> None:
    turns = [Turn("no", verdict=Verdict("command", {})), Turn("yes")]
    right = rollout(trajectory_of(turns, 1, True, False), [1, 1, 0, 2])
    assert right.learnt == [0, 0, 0, 1]
    wrong = rollout(trajectory_of(turns, 0, True, False), [1, 1, 0, 2])
    assert wrong.learnt == [0, 0, 0, 0]


def test_refusal_is_watched_apart_from_over_refusal() -> None:
    turns = [Turn("yes")]
    made = [
        rollout(trajectory_of(turns, 1, answerable, refused), [1])
        for answerable, refused in ((False, True), (False, False), (True, False), (True, False), (True, True))
    ]
    assert refusals(made) == {"refusal_rate": 0.5, "over_refusal_rate": pytest.approx(1 / 3)}
    assert refusals(made[2:]) == {"refusal_rate": None, "over_refusal_rate": pytest.approx(1 / 3)}


def test_every_second_step_replays_supervised_packs_and_samples_nothing(
    folder: Path,
    groups: list[Group],
    domain: Domain,
    replayed: PackCollator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half_right(monkeypatch)
    played: list[list[int]] = []
    play = rl.play_groups

    def note(policy: Any, groups: Any, indices: list[int], *more: Any) -> Any:
        played.append(indices)
        return play(policy, groups, indices, *more)

    monkeypatch.setattr(rl, "play_groups", note)
    config = CONFIG.model_copy(update={"replay_every": 2, "checkpoint_steps": 0})
    _, lines = train(folder, groups, domain, config, replayed=replayed)
    assert ["replayed" in line for line in lines] == [False, True, False]
    assert played == [[0, 0, 1, 1], [2, 2, 3, 3]]
    replay = rl.replay_of(2, replayed, 1)
    assert replay is not None
    start = LlamaForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        expected = sum(step_loss(start, replay.inputs(n, torch.device("cpu"))).item() for n in (0, 1)) / 2
    # The step before changed the weights, and the Trainer computes in bf16.
    assert lines[1]["replay_loss"] == pytest.approx(expected, rel=0.05)
    assert lines[1]["loss"] == pytest.approx(lines[1]["replay_loss"], rel=0.01)
    assert lines[1]["grad_norm"] > 0


class Interrupt(TrainerCallback):
    """Ends the run at the beginning of a step, as a killed process would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def test_a_resumed_run_goes_on_as_if_it_had_not_been_interrupted(
    folder: Path,
    groups: list[Group],
    domain: Domain,
    replayed: PackCollator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half_right(monkeypatch)
    config = CONFIG.model_copy(update={"replay_every": 2})
    whole, expected = train(folder, groups, domain, config, "whole", replayed=replayed)
    with pytest.raises(KeyboardInterrupt):
        train(folder, groups, domain, config, "cut", replayed=replayed, callbacks=[Interrupt(2)])
    last = folder.parent / "cut" / "checkpoint-2"
    resumed, found = train(folder, groups, domain, config, "cut", replayed=replayed, resume_from=last)
    assert [line["step"] for line in found] == [1, 2, 3]
    assert [line.get("groups") for line in found] == [line.get("groups") for line in expected]
    for key in ("loss", "kl", "policy_version", "replay_loss"):
        assert [line.get(key) for line in found] == pytest.approx([line.get(key) for line in expected])
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    others = config.model_copy(update={"learning_rate": 1e-4})
    with pytest.raises(BadInput, match=r"config\.learning_rate is 0\.001 in it and 0\.0001 now") as told:
        train(folder, groups, domain, others, "cut", replayed=replayed, resume_from=last)
    assert "delete it" in told.value.mend


def test_replay_without_packs_is_refused(folder: Path, groups: list[Group], domain: Domain) -> None:
    with pytest.raises(BadInput, match="no supervised packs to replay"):
        train(folder, groups, domain, CONFIG.model_copy(update={"replay_every": 2}))


def test_a_reward_function_that_raises_in_a_rollout_is_named_and_no_traceback(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("price")

    monkeypatch.setattr(domain, "score", broken)
    with pytest.raises(BadInput, match="the reward function raised KeyError: 'price'"):
        train(folder, groups, domain, CONFIG)
