"""Packing several trajectories of one harness state behind one shared prompt prefix.

All tasks of a state and session have the same system prompt, which is most of a sequence. It is computed once, and
each trajectory is a branch that sees the prefix and itself. The loss is the one of separate sequences: every token
keeps its position and sees the same tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerBase

from hat.augment.state import HarnessState
from hat.errors import BadInput
from hat.harness.render import render_tools
from hat.trajectories.present import opening_messages, present
from hat.trajectories.record import Trajectory, Turn


@dataclass(frozen=True)
class SegmentWeights:
    """The loss weight of a token, by what it is part of."""

    call: float = 1.0
    reply: float = 1.0


@dataclass(frozen=True)
class Branch:
    """One trajectory after the prefix: token ids and the loss weight of each (0 is no loss)."""

    token_ids: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Pack:
    """One training step's data: the prefix's token ids and the branches that continue it."""

    prefix: tuple[int, ...]
    branches: tuple[Branch, ...]


def build_pack(
    trajectories: Sequence[Trajectory],
    state: HarnessState,
    tokenizer: PreTrainedTokenizerBase,
    weights: SegmentWeights,
) -> Pack:
    """Present trajectories under a state and pack them.

    Raises:
        BadInput: the trajectories are of different sessions (their prefixes differ), or the tokenizer's chat template
            has no generation markers.
    """
    tools = render_tools(state.presented)
    prefix_messages = opening_messages(trajectories[0].task, state)[:1]
    prefix = tokenizer.apply_chat_template(prefix_messages, tools=tools, return_dict=False)
    branches = []
    for trajectory in trajectories:
        ids, mask = _tokenise(present(trajectory, state), tools, tokenizer)
        if ids[: len(prefix)] != prefix:
            raise BadInput("the trajectories of one pack have different system prompts", where=trajectory.id)
        branch_weights = _turn_weights(mask[len(prefix) :], trajectory.turns, weights)
        branches.append(Branch(tuple(ids[len(prefix) :]), tuple(branch_weights)))
    return Pack(tuple(prefix), tuple(branches))


def collate_pack(pack: Pack) -> dict[str, torch.Tensor]:
    """A pack of B branches as tensors.

    Returns:
        ``prefix_ids`` (1, P); ``branch_ids`` and ``loss_weights`` (B, T), padded on the right to the longest branch.
        Padding needs no mask: it stands after every real token, and its weight is 0.
    """
    length = max(len(branch.token_ids) for branch in pack.branches)
    ids = [[*branch.token_ids, *[0] * (length - len(branch.token_ids))] for branch in pack.branches]
    weights = [[*branch.weights, *[0.0] * (length - len(branch.weights))] for branch in pack.branches]
    return {
        "prefix_ids": torch.tensor([pack.prefix]),
        "branch_ids": torch.tensor(ids),
        "loss_weights": torch.tensor(weights),
    }


def pack_loss(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Weighted mean negative log-likelihood of the scored tokens.

    The prefix runs once and its keys and values are repeated for the branches; gradients flow back through them.
    The vocabulary is projected only at the positions that predict a scored token.
    """
    decoder = model.get_decoder()
    branch_ids, weights = inputs["branch_ids"], inputs["loss_weights"]
    cache = decoder(input_ids=inputs["prefix_ids"], use_cache=True).past_key_values
    cache.batch_repeat_interleave(branch_ids.shape[0])
    hidden = decoder(input_ids=branch_ids, past_key_values=cache, use_cache=True).last_hidden_state
    rows, columns = weights.nonzero(as_tuple=True)
    logits = model.get_output_embeddings()(hidden[rows, columns - 1])
    losses = cross_entropy(logits.float(), branch_ids[rows, columns], reduction="none")
    scored = weights[rows, columns]
    return (losses * scored).sum() / scored.sum()


def _tokenise(
    messages: list[dict[str, Any]], tools: list[dict[str, Any]], tokenizer: PreTrainedTokenizerBase
) -> tuple[list[int], list[int]]:
    """Token ids of a conversation, and which of them the assistant wrote (its stop token included)."""
    encoded = tokenizer.apply_chat_template(
        messages, tools=tools, return_dict=True, return_assistant_tokens_mask=True
    )
    ids, mask = encoded["input_ids"], encoded["assistant_masks"]
    if not any(mask):
        raise BadInput(
            "the chat template has no generation markers, so the assistant's tokens cannot be told apart",
            mend="Wrap the assistant's text in {% generation %} ... {% endgeneration %}, stop token included.",
        )
    return ids, mask


def _turn_weights(mask: Sequence[int], turns: Sequence[Turn], weights: SegmentWeights) -> list[float]:
    """The loss weight of each token of a branch; the n-th run of assistant tokens is the n-th turn."""
    result, turn, previous = [], -1, 0
    for bit in mask:
        turn += bit and not previous
        previous = bit
        result.append(_weight(turns[turn], weights) if bit else 0.0)
    return result


def _weight(turn: Turn, weights: SegmentWeights) -> float:
    """A blocked turn is there to be corrected, not to be learnt."""
    blocked = turn.verdict is not None or any(
        observation.kind in ("blocked", "unknown_name") for observation in turn.observations
    )
    if blocked:
        return 0.0
    return weights.call if turn.calls else weights.reply
