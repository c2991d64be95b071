import pytest
import torch

from hat.training.segments import policy_loss, segment_means


def row(*values: float) -> torch.Tensor:
    return torch.tensor([values])


def gradient(
    advantages: torch.Tensor, segments: torch.Tensor, change: torch.Tensor | None = None
) -> torch.Tensor:
    old = torch.full(segments.shape, -1.0)
    now = (old + (change if change is not None else 0.0)).requires_grad_()
    policy_loss(now, old, advantages, segments, 0.2, 0.28).loss.backward()
    assert now.grad is not None
    return now.grad


def test_opposite_advantages_of_two_segments_do_not_cancel() -> None:
    advantages = row(1, 1, 1, 1, -2, -2)
    one = gradient(advantages, torch.tensor([[1, 1, 1, 1, 1, 1]]))
    assert one.abs().max() < 1e-7
    two = gradient(advantages, torch.tensor([[1, 1, 1, 1, 2, 2]]))
    assert torch.allclose(two, row(-1, -1, -1, -1, 2, 2) / 6)


def test_one_segment_gives_the_gradient_of_one_ratio_for_the_sequence() -> None:
    change = row(0.02, -0.01, 0.03, 0.0)
    segments = torch.tensor([[1, 1, 1, 1]])
    found = gradient(row(2, 2, 2, 2), segments, change)
    expected = -2 * torch.exp(change.mean()) / 4
    assert torch.allclose(found, expected.expand(1, 4))


def test_each_segment_has_its_own_ratio() -> None:
    change = row(0.1, 0.1, -0.1, -0.1)
    found = gradient(row(1, 1, 1, 1), torch.tensor([[1, 1, 2, 2]]), change)
    ratios = torch.exp(change)
    assert torch.allclose(found, -ratios / 4)


@pytest.mark.parametrize(
    ("change", "advantage", "moves"), [(0.5, 1, False), (0.5, -1, True), (-0.5, -1, False)]
)
def test_a_segment_beyond_the_clip_no_longer_moves_while_its_neighbour_does(
    change: float, advantage: float, moves: bool
) -> None:
    changes = row(change, change, 0.0, 0.0)
    advantages = row(advantage, advantage, 1, 1)
    found = gradient(advantages, torch.tensor([[1, 1, 2, 2]]), changes)
    assert bool(found[0, :2].abs().max() > 0) is moves
    assert found[0, 2:].abs().min() > 0


def test_tokens_that_were_not_sampled_carry_no_loss_and_no_gradient() -> None:
    segments = torch.tensor([[1, 1, 0, 0, 2]])
    found = gradient(row(1, 1, 1, 1, 1), segments)
    assert found[0].ne(0).tolist() == [True, True, False, False, True]
    wild = row(-1, -1, float("-inf"), 1e30, -1).requires_grad_()
    result = policy_loss(wild, torch.full((1, 5), -1.0), row(1, 1, 1, 1, 1), segments, 0.2, 0.28)
    result.loss.backward()
    assert torch.isfinite(result.loss)
    assert wild.grad is not None
    assert torch.isfinite(wild.grad).all()


def test_zero_advantages_give_exactly_no_gradient() -> None:
    found = gradient(torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.long), torch.rand(2, 3))
    assert torch.equal(found, torch.zeros(2, 3))


def test_rollouts_weigh_the_same_whatever_their_length() -> None:
    segments = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1]])
    found = gradient(torch.ones(2, 4), segments)
    assert torch.allclose(found.sum(-1), torch.tensor([-0.5, -0.5]))


def test_segment_means_spread_over_their_own_tokens() -> None:
    means = segment_means(row(1, 3, 9, 5), torch.tensor([[1, 1, 0, 2]]))
    assert torch.equal(means, row(2, 2, 0, 5))
