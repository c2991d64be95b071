from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from hat.agent.policies.local import Rollout
from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.domains.base import Domain, get_domain
from hat.errors import BadInput, EnvironmentFailure
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.training import rl, rollouts
from hat.training.config import RLConfig
from hat.training.metrics import read_step_log
from hat.training.rollouts import CALLS, REPLY, Group, plan_groups, play_groups, segments_of
from hat.training.safety import BrokenNumbers
from hat.trajectories.record import Turn

REGISTRY = Path(__file__).parents[3] / "harness_registry"
CONFIG = RLConfig(
    steps=2,
    groups_per_step=2,
    candidates=1,
    group_size=2,
    max_new_tokens=6,
    learning_rate=1e-3,
    intents=("host",),
)


@pytest.fixture(scope="module")
def harness() -> Harness:
    return Registry(REGISTRY).load("live-shop", "1.0.0")


@pytest.fixture(scope="module")
def domain() -> Domain:
    return get_domain("live_shop")


@pytest.fixture
def groups(harness: Harness, domain: Domain) -> list[Group]:
    return plan_groups(harness, domain, CONFIG, AugmentConfig(), seed=3)


@pytest.fixture
def folder(tmp_path: Path, tiny_model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> Path:
    tiny_model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_nothing_is_planned_under_a_state_that_a_gate_refuses(
    harness: Harness, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = rollouts.sample_state

    def broken(*arguments: Any, **settings: Any) -> HarnessState:
        state = sound(*arguments, **settings)
        return replace(state, canonical=replace(state.canonical, limits=replace(harness.limits, max_turns=9)))

    monkeypatch.setattr(rollouts, "sample_state", broken)
    with pytest.raises(BadInput, match="gate G1 fails on state"):
        plan_groups(harness, domain, CONFIG, AugmentConfig(), seed=3)


def run(
    folder: Path, groups: Sequence[Group], domain: Domain, config: RLConfig = CONFIG
) -> tuple[Any, list[Any]]:
    log = folder.parent / "rl.jsonl"
    model, _ = rl.train_rl(folder, groups, domain, config, work=folder.parent / "work", log=log, seed=1)
    return model, read_step_log(log)


def change(folder: Path, model: Any) -> float:
    before = LlamaForCausalLM.from_pretrained(folder)
    pairs = zip(before.parameters(), model.parameters(), strict=True)
    return max(float((old - new).abs().max()) for old, new in pairs)


def reward_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards that differ between the rollouts of a random model."""

    def made(scores: Any, reply_tokens: int, gold_tokens: int) -> dict[str, float | None]:
        count = next(counter)
        return {name: float(count % 2) for name in ("accuracy", "effectiveness")} | dict.fromkeys(
            ("tool_rationality", "skill_selection", "length")
        )

    counter = iter(range(10_000))
    monkeypatch.setattr(rollouts, "rollout_rewards", made)


def test_a_run_changes_the_weights_and_logs_every_step(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_by_text(monkeypatch)
    model, lines = run(folder, groups, domain)
    assert change(folder, model) > 0
    assert [line["step"] for line in lines] == [1, 2]
    for line in lines:
        assert line["rewards"] == {
            "accuracy": 0.5,
            "effectiveness": 0.5,
            "tool_rationality": None,
            "skill_selection": None,
            "length": None,
        }
        assert line["grad_norm"] > 0
        assert line["kl"] >= 0
        assert (line["groups_tried"], line["groups_that_differ"]) == (2, 2)
        assert [group["task"] for group in line["groups"]]


def test_the_next_rollouts_carry_the_new_policy_version(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_by_text(monkeypatch)
    _, lines = run(folder, groups, domain)
    assert [line["policy_version"] for line in lines] == [0, 1]


def test_rollouts_of_stale_weights_are_refused(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_by_text(monkeypatch)
    sync = rl.DecodeCopy.sync

    def only_once(self: Any, model: Any, version: int) -> None:
        if version == 0:
            sync(self, model, version)

    monkeypatch.setattr(rl.DecodeCopy, "sync", only_once)
    with pytest.raises(EnvironmentFailure, match="policy version 0, the model's of 1"):
        run(folder, groups, domain)


def test_a_version_that_was_counted_up_without_the_weights_is_noticed(tiny_model: LlamaForCausalLM) -> None:
    copied = rl.DecodeCopy(tiny_model)
    copied.sync(tiny_model, 0)
    with torch.no_grad():
        tiny_model.model.norm.weight.add_(1.0)
    copied.version = 1
    with pytest.raises(EnvironmentFailure):
        copied.check(tiny_model, 1)


def test_equal_rewards_leave_the_weights_exactly_as_they_were(
    folder: Path, groups: list[Group], domain: Domain
) -> None:
    model, lines = run(folder, groups, domain)
    assert all(line["groups_that_differ"] == 0 and line["grad_norm"] == 0.0 for line in lines)
    assert change(folder, model) == 0.0


def test_a_nan_reward_stops_the_run_and_names_the_rollout(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollouts, "rollout_rewards", lambda *_: {"accuracy": float("nan")})
    with pytest.raises(BrokenNumbers, match=groups[0].task.id):
        run(folder, groups, domain)


def test_too_few_groups_are_refused_before_any_step(
    folder: Path, groups: list[Group], domain: Domain
) -> None:
    with pytest.raises(BadInput, match="1 groups of rollouts are fewer than one batch of 2"):
        run(folder, groups[:1], domain)


def test_several_updates_use_the_log_probabilities_of_the_rollout(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_by_text(monkeypatch)
    config = CONFIG.model_copy(update={"updates_per_rollout": 2})
    model, lines = run(folder, groups, domain, config)
    assert [line["policy_version"] for line in lines] == [0, 0]
    assert lines[1]["loss"] != lines[0]["loss"]
    assert change(folder, model) > 0


def test_only_sampled_tokens_are_trained_on(
    folder: Path, groups: list[Group], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_by_text(monkeypatch)
    seen: list[dict[str, Any]] = []
    loss_of = rl.EpisodeTrainer._loss_of

    def keep(self: Any, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        seen.append({**inputs, "rollouts": self.last_rollouts})
        return loss_of(self, model, inputs)

    monkeypatch.setattr(rl.EpisodeTrainer, "_loss_of", keep)
    run(folder, groups, domain, CONFIG.model_copy(update={"steps": 1}))
    assert len(seen) == 2
    for number, inputs in enumerate(seen):
        for row, rollout in enumerate(inputs["rollouts"][2 * number : 2 * number + 2]):
            length = len(rollout.completion_ids)
            assert inputs["completion_ids"][row, :length].tolist() == rollout.completion_ids
            assert inputs["completion_mask"][row].sum() == length
            assert inputs["segments"][row, :length].tolist() == rollout.segments
            not_sampled = inputs["segments"][row] == 0
            assert not_sampled[:length].any()
            assert (inputs["advantages"][row][not_sampled] == 0).all()


def test_a_group_has_one_state_and_one_task_and_groups_mix_original_and_augmented(
    harness: Harness, domain: Domain
) -> None:
    config = RLConfig(steps=5, groups_per_step=2, candidates=1, augmented_share=0.5)
    made = plan_groups(harness, domain, config, AugmentConfig(), seed=0)
    assert len(made) == 10
    assert sum(bool(group.state.families) for group in made) == 5
    assert len({group.task.digest for group in made}) == 10
    assert all(group.state.split == group.task.split == "train" for group in made)
    again = plan_groups(harness, domain, config, AugmentConfig(), seed=0)
    assert [group.state.digest for group in again] == [group.state.digest for group in made]


def test_the_candidate_groups_that_differ_most_are_learnt_from(
    folder: Path, harness: Harness, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CONFIG.model_copy(update={"steps": 1, "candidates": 2})
    planned = plan_groups(harness, domain, config, AugmentConfig(), seed=3)
    assert len(planned) == 4
    accuracies = iter([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.0])  # the second and the fourth group differ

    def made(scores: Any, reply_tokens: int, gold_tokens: int) -> dict[str, float | None]:
        others = ("effectiveness", "tool_rationality", "skill_selection", "length")
        return {"accuracy": next(accuracies)} | dict.fromkeys(others)

    monkeypatch.setattr(rollouts, "rollout_rewards", made)
    _, (line,) = run(folder, planned, domain, config)
    assert [group["task"] for group in line["groups"]] == [planned[1].task.id, planned[3].task.id]
    assert (line["groups_tried"], line["groups_that_differ"]) == (4, 2)


def test_rollouts_keep_the_ids_that_were_sampled(
    tiny_model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, groups: list[Group], domain: Domain
) -> None:
    policy = rl.LocalPolicy((tiny_model, tokenizer), max_new_tokens=5, temperature=1.0, log_probs=True)
    played = play_groups(policy, groups, [0, 0, 1], domain, policy_version=4)
    assert [rollout.group for rollout in played] == [0, 0, 1]
    assert played[0].prompt_ids == played[1].prompt_ids
    for rollout in played:
        assert rollout.policy_version == 4
        lengths = {len(rollout.completion_ids), len(rollout.segments), len(rollout.kinds)}
        assert lengths == {len(rollout.sampling_log_probs)}
        assert max(rollout.segments) == len(rollout.trajectory.turns)
        first = [i for i, s in zip(rollout.completion_ids, rollout.segments, strict=True) if s == 1]
        said = rollout.trajectory.turns[0]
        assert (said.raw or said.content) in policy.tokens.decode(first)


def test_a_turn_with_calls_and_a_reply_are_segments_of_their_own_kind() -> None:
    rollout = Rollout(
        completion_ids=list(range(9)), sampled=[1, 1, 0, 1, 1, 0, 0, 1, 1], turns=[(0, 2), (3, 5), (7, 9)]
    )
    call: Any = object()
    turns = [Turn("", (call,)), Turn("", raw="<tool_call>{"), Turn("hello")]
    segments, kinds = segments_of(rollout, turns)
    assert segments == [1, 1, 0, 2, 2, 0, 0, 3, 3]
    assert kinds == [CALLS, CALLS, 0, CALLS, CALLS, 0, 0, REPLY, REPLY]


def test_the_end_token_is_trained_on_although_it_is_the_padding_token(
    folder: Path,
    groups: list[Group],
    domain: Domain,
    tokenizer: PreTrainedTokenizerFast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reward_by_text(monkeypatch)
    end = tokenizer.eos_token_id
    play = rl.play_groups

    def ended(*arguments: Any) -> list[Any]:
        made = []
        for number, rollout in enumerate(play(*arguments)):
            ids = [40 + number] * (number + 1) + [end]
            size = len(ids)
            made.append(
                replace(
                    rollout,
                    completion_ids=ids,
                    segments=[1] * size,
                    kinds=[REPLY] * size,
                    sampling_log_probs=[-1.0] * size,
                )
            )
        return made

    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(rl, "play_groups", ended)
    loss_of = rl.EpisodeTrainer._loss_of
    monkeypatch.setattr(
        rl.EpisodeTrainer,
        "_loss_of",
        lambda self, model, inputs: seen.append(inputs) or loss_of(self, model, inputs),
    )
    run(folder, groups, domain, CONFIG.model_copy(update={"steps": 1}))
    rows = [row for inputs in seen for row in zip(inputs["completion_ids"], inputs["segments"], strict=True)]
    for number, (ids, segments) in enumerate(rows):
        assert ids[number + 1] == end
        assert segments.tolist() == [1] * (number + 2) + [0] * (len(ids) - number - 2)


def test_a_share_of_groups_meets_faults_and_all_rollouts_of_a_group_the_same(
    harness: Harness, domain: Domain
) -> None:
    config = CONFIG.model_copy(update={"steps": 10, "intents": ("price",)})
    plain = plan_groups(harness, domain, config, AugmentConfig(), seed=3)
    assert all(group.faults is None for group in plain)
    some = plan_groups(
        harness, domain, config.model_copy(update={"fault_share": 0.5}), AugmentConfig(), seed=3
    )
    assert [replace(group, faults=None) for group in some] == plain
    failing = [group for group in some if group.faults is not None]
    assert 0 < len(failing) < len(some)
    assert all(group.faults.seed == group.state.seed for group in failing if group.faults)
    seen = []

    class Expert:
        """Plays the rollouts as `LocalPolicy.roll_out` is asked to, by the expert."""

        name = "expert"

        def roll_out(self, episodes, execute):
            domain.expert().play(episodes, execute, lambda index: None)
            seen.extend(episode.trajectory() for episode in episodes)
            raise StopIteration

    number = some.index(failing[0])
    with pytest.raises(StopIteration):
        play_groups(Expert(), some, [number, number, number], domain, 0)
    turns = [trajectory.turns for trajectory in seen]
    assert turns[0] == turns[1] == turns[2]
    assert any(o.code for turn in turns[0] for o in turn.observations)
