import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hat.domains.base import Scores
from hat.training.rewards import (
    COMPONENTS,
    advantages,
    check_rewards,
    group_differences,
    length_reward,
    rollout_rewards,
    segment_advantages,
)
from hat.training.safety import BrokenNumbers

WEIGHTS = {
    "accuracy": 1.0,
    "effectiveness": 1.0,
    "tool_rationality": 1.0,
    "skill_selection": 1.0,
    "length": 0.1,
}
NAN = math.nan


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values)[:, None]


def rewards(**values: float | None) -> dict[str, float | None]:
    return {**dict.fromkeys(COMPONENTS, 0.5), "length": None, **values}


def scores(accuracy: int) -> Scores:
    return Scores(accuracy, float(accuracy), 0.5, 1.0, True, False, True)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 0.5, 0.7, 1 / 3, 1.0])
@pytest.mark.parametrize("size", [2, 4, 7, 8])
def test_equal_rewards_give_exact_zeros(value: float, size: int) -> None:
    made = advantages(torch.full((size, 3), value), torch.ones(3), size)
    assert torch.equal(made, torch.zeros(size))


def test_an_equal_group_stays_at_zero_beside_one_that_differs() -> None:
    made = advantages(column(0.3, 0.3, 0.3, 0.3, 1, 0, 0, 0), torch.ones(1), 4)
    assert torch.equal(made[:4], torch.zeros(4))
    assert made[4] > 0 > made[5]


def test_rewards_that_are_not_known_leave_finite_advantages() -> None:
    assert torch.equal(advantages(column(1, NAN, NAN, NAN), torch.ones(1), 4), torch.zeros(4))
    assert torch.equal(advantages(column(NAN, NAN), torch.ones(1), 2), torch.zeros(2))
    made = advantages(column(1, 0, NAN, NAN), torch.ones(1), 4)
    assert made[0] > 0 > made[1]
    assert torch.equal(made[2:], torch.zeros(2))


@given(
    st.lists(
        st.one_of(st.just(NAN), st.floats(-1, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=24, max_size=24
    )
)
def test_advantages_are_finite_and_centred_whatever_the_rewards(values: list[float]) -> None:
    table = torch.tensor(values, dtype=torch.float64).view(8, 3)
    made = advantages(table, torch.tensor([1.0, 0.5, 0.1]), 4)
    assert torch.isfinite(made).all()
    assert abs(made.view(2, 4).sum(1)).max() < 1e-6


def test_one_component_gives_the_advantages_of_trl() -> None:
    table = torch.tensor(
        [[1.0, 0.2], [0.0, 0.4], [1.0, 0.9], [0.0, 0.1], [1.0, 0.3], [1.0, 0.5], [0.0, 0.4], [0.0, 1.0]]
    )
    weights = torch.tensor([1.0, 0.5])
    grouped = table.view(-1, 4, 2)
    normalised = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)
    total = (normalised.view(-1, 2) * weights).sum(1)
    expected = (total - total.mean()) / (total.std() + 1e-4)
    assert torch.allclose(advantages(table, weights, 4), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("tokens", "reward"), [(20, 0.0), (50, 0.0), (62, 0.0), (63, -0.25), (76, -0.5), (500, -1.0)]
)
def test_the_length_term_is_free_up_to_a_quarter_over_the_gold_and_then_falls_in_buckets(
    tokens: int, reward: float
) -> None:
    assert length_reward(tokens, 50) == reward


def test_one_token_more_is_not_blown_up_into_an_advantage() -> None:
    group = [rollout_rewards(scores(1), tokens, 50) for tokens in (50, 50, 50, 51)]
    _, reply = segment_advantages(group, WEIGHTS, 4)
    assert torch.equal(reply, torch.zeros(4, dtype=torch.float64))


def test_a_batch_that_differs_in_length_only_keeps_little_weight() -> None:
    group = [rollout_rewards(scores(1), tokens, 50) for tokens in (50, 50, 50, 90)]
    _, reply = segment_advantages(group, WEIGHTS, 4)
    assert reply[3] < 0
    assert reply.abs().max() < 0.35


def test_length_counts_only_when_the_reply_is_right() -> None:
    assert rollout_rewards(scores(0), 500, 50)["length"] is None
    assert rollout_rewards(scores(1), 500, 50)["length"] == -1.0
    group = [
        rollout_rewards(scores(accuracy), tokens, 50)
        for accuracy, tokens in ((1, 500), (0, 10), (0, 10), (0, 10))
    ]
    _, reply = segment_advantages(group, WEIGHTS, 4)
    assert reply[0] > 0 > reply[1]


def test_a_rollout_of_a_failed_engine_has_no_rewards_and_no_advantage() -> None:
    failed = rollout_rewards(None, 0, 50)
    assert set(failed.values()) == {None}
    calls, reply = segment_advantages(
        [failed, rewards(accuracy=1.0), rewards(accuracy=0.0), failed], WEIGHTS, 4
    )
    assert calls[0] == reply[0] == calls[3] == 0.0
    assert calls[1] > 0 > calls[2]


def test_calls_and_reply_are_credited_by_what_they_can_change() -> None:
    better_calls = [rewards(tool_rationality=1.0), rewards(tool_rationality=0.0)]
    calls, reply = segment_advantages(better_calls, WEIGHTS, 2)
    assert calls[0] > 0 > calls[1]
    assert torch.equal(reply, torch.zeros(2, dtype=torch.float64))
    better_reply = [rewards(effectiveness=1.0), rewards(effectiveness=0.0)]
    calls, reply = segment_advantages(better_reply, WEIGHTS, 2)
    assert reply[0] > 0 > reply[1]
    assert torch.equal(calls, torch.zeros(2, dtype=torch.float64))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_reward_that_is_not_finite_stops_naming_the_rollout(value: float) -> None:
    with pytest.raises(BrokenNumbers, match=r"rollout train-7/3.*effectiveness"):
        check_rewards("train-7/3", rewards(effectiveness=value))
    check_rewards("train-7/3", rewards(effectiveness=None))


def test_a_group_teaches_as_much_as_its_rollouts_differ() -> None:
    same, better, best = rewards(), rewards(accuracy=0.7), rewards(accuracy=1.0)
    nothing, little, more = group_differences([same, same, same, better, same, best], WEIGHTS, 2)
    assert nothing == 0.0 < little < more
    assert group_differences([same, rewards(accuracy=None)], WEIGHTS, 2) == [0.0]
    assert group_differences([rewards(length=0.0), rewards(length=-1.0)], WEIGHTS, 2) == pytest.approx([0.05])
