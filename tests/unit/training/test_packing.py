"""Packs: the shared-prefix loss is the plain loss, and only what the assistant should learn is scored."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM

from hat.training.packing import Branch, Pack, _fill_rows, _without_unscored_end, collate_pack, pack_loss


@pytest.fixture
def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return LlamaForCausalLM(config)


PACK = Pack(
    prefix=(5, 6, 7, 8, 9),
    branches=(
        Branch((10, 11, 12, 13), (0.0, 0.0, 1.0, 1.0)),
        Branch((20, 21, 22, 23, 24, 25), (0.0, 0.0, 0.5, 0.5, 0.0, 2.0)),
        Branch((30, 31), (0.0, 1.0)),
    ),
)


def plain_loss(model: LlamaForCausalLM, pack: Pack) -> torch.Tensor:
    """The same loss from one whole sequence a branch, without sharing, padding or skipping positions."""
    total, weight = torch.zeros(()), 0.0
    for branch in pack.branches:
        ids = torch.tensor([[*pack.prefix, *branch.token_ids]])
        log_probs = model(input_ids=ids).logits.log_softmax(-1)[0]
        for offset, value in enumerate(branch.weights):
            position = len(pack.prefix) + offset
            total = total - value * log_probs[position - 1, ids[0, position]]
            weight += value
    return total / weight


def test_shared_prefix_loss_and_gradient_equal_the_plain_ones(model: LlamaForCausalLM) -> None:
    shared = pack_loss(model, collate_pack(PACK))
    shared.backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    plain = plain_loss(model, PACK)
    plain.backward()
    assert shared.item() == pytest.approx(plain.item(), abs=1e-5)
    for gradient, parameter in zip(gradients, model.parameters(), strict=True):
        assert torch.allclose(gradient, parameter.grad, atol=1e-5)


def test_short_branches_share_a_row() -> None:
    tensors = collate_pack(PACK)
    assert tensors["branch_ids"].tolist() == [[20, 21, 22, 23, 24, 25], [10, 11, 12, 13, 30, 31]]
    assert tensors["position_ids"].tolist() == [[5, 6, 7, 8, 9, 10], [5, 6, 7, 8, 5, 6]]


def test_a_branch_never_sees_another() -> None:
    mask = collate_pack(PACK)["attention_mask"]
    assert mask[1, 0, 4].tolist() == [True] * 5 + [False] * 4 + [True, False]


@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_every_branch_is_in_exactly_one_row_and_sharing_never_pads_more_than_a_row_each(
    lengths: list[int],
) -> None:
    rows = _fill_rows(lengths, prefix=400)
    assert sorted(number for row in rows for number in row) == list(range(len(lengths)))
    width = max(sum(lengths[number] for number in row) for row in rows)
    assert len(rows) * width <= len(lengths) * max(lengths)


def test_nothing_after_the_last_scored_token_is_computed() -> None:
    cut = _without_unscored_end(Branch((1, 2, 3, 4, 5), (0.0, 1.0, 1.0, 0.0, 0.0)))
    assert cut == Branch((1, 2, 3), (0.0, 1.0, 1.0))
