"""Packing several trajectories of one harness state behind one shared prompt prefix.

All tasks of a state and session have the same system prompt, which is most of a sequence. It is computed once, and
each trajectory is a branch that sees the prefix and itself. The loss is the one of separate sequences: every token
keeps its position and sees the same tokens.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerBase

from hat.augment.state import HarnessState
from hat.errors import BadInput
from hat.harness.render import render_tools
from hat.trajectories.present import opening_messages, present
from hat.trajectories.record import Trajectory, Turn

Number = TypeVar("Number", int, float)


_KEYS_OF_A_TOKEN = 800
"""Keys whose attention costs as much as the rest of a token's work: SmolLM2-135M on CPU, roughly."""


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

    @property
    def tokens(self) -> int:
        """Tokens without padding; the prefix counts once, as it is computed once."""
        return len(self.prefix) + sum(len(branch.token_ids) for branch in self.branches)


def build_pack(
    trajectories: Sequence[Trajectory],
    state: HarnessState,
    tokenizer: PreTrainedTokenizerBase,
    weights: SegmentWeights,
    openings: Sequence[Trajectory] = (),
) -> Pack:
    """Present trajectories under a state and pack them; of ``openings`` only the first turn that is learnt is taken.

    Raises:
        BadInput: the trajectories are of different sessions (their prefixes differ), or the tokenizer's chat template
            has no generation markers.
    """
    tools = render_tools(state.presented)
    prefix_messages = opening_messages(trajectories[0].task, state)[:1]
    prefix = tokenizer.apply_chat_template(prefix_messages, tools=tools, return_dict=False)
    branches = []
    for trajectory in (*trajectories, *map(_opening, openings)):
        ids, mask = _tokenise(present(trajectory, state), tools, tokenizer)
        if ids[: len(prefix)] != prefix:
            raise BadInput("the trajectories of one pack have different system prompts", where=trajectory.id)
        branch_weights = _turn_weights(mask[len(prefix) :], trajectory.turns, weights)
        branches.append(_without_unscored_end(Branch(tuple(ids[len(prefix) :]), tuple(branch_weights))))
    return Pack(tuple(prefix), tuple(branches))


def collate_pack(pack: Pack) -> dict[str, torch.Tensor]:
    """A pack as tensors, its branches laid out in R rows of T tokens.

    Branches share rows, since padding each to the longest would nearly double the work.

    Returns:
        ``prefix_ids`` (1, P); ``branch_ids``, ``position_ids`` and ``loss_weights`` (R, T), padded on the right;
        ``attention_mask`` (R, 1, T, P + T), boolean: a token sees the prefix and what came before it in its branch;
        ``training_tokens`` (), the number of tokens that are not padding.
    """
    rows = _fill_rows([len(branch.token_ids) for branch in pack.branches], len(pack.prefix))
    length = max(sum(len(pack.branches[number].token_ids) for number in row) for row in rows)
    start = len(pack.prefix)
    ids, positions, weights, owners = [], [], [], []
    for row in rows:
        branches = [pack.branches[number] for number in row]
        ids.append(_padded((token for b in branches for token in b.token_ids), length, 0))
        positions.append(
            _padded((start + n for b in branches for n in range(len(b.token_ids))), length, start)
        )
        weights.append(_padded((weight for b in branches for weight in b.weights), length, 0.0))
        owners.append(
            _padded((number for number in row for _ in pack.branches[number].token_ids), length, -1)
        )
    owner = torch.tensor(owners)
    own = (owner[:, :, None] == owner[:, None, :]).tril()
    prefix_seen = torch.ones(len(rows), length, start, dtype=torch.bool)
    return {
        "prefix_ids": torch.tensor([pack.prefix]),
        "branch_ids": torch.tensor(ids),
        "position_ids": torch.tensor(positions),
        "attention_mask": torch.cat([prefix_seen, own], dim=-1)[:, None],
        "loss_weights": torch.tensor(weights),
        "training_tokens": torch.tensor(pack.tokens),
    }


def pack_loss(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Weighted mean negative log-likelihood of the scored tokens.

    The prefix runs once and its keys and values are repeated for the rows; gradients flow back through them.
    The vocabulary is projected only at the positions that predict a scored token.
    """
    decoder = model.get_decoder()
    branch_ids, weights = inputs["branch_ids"], inputs["loss_weights"]
    cache = decoder(input_ids=inputs["prefix_ids"], use_cache=True).past_key_values
    cache.batch_repeat_interleave(branch_ids.shape[0])
    hidden = decoder(
        input_ids=branch_ids,
        position_ids=inputs["position_ids"],
        attention_mask=inputs["attention_mask"],
        cache=cache,
        use_cache=True,
    ).last_hidden_state
    rows, columns = weights.nonzero(as_tuple=True)
    logits = model.get_output_embeddings()(hidden[rows, columns - 1])
    losses = cross_entropy(logits.float(), branch_ids[rows, columns], reduction="none")
    scored = weights[rows, columns]
    return (losses * scored).sum() / scored.sum()


def _fill_rows(lengths: Sequence[int], prefix: int) -> list[list[int]]:
    """Numbers of the branches of each row, in as many rows as cost least.

    More rows mean more padding, fewer rows longer attention.
    """

    def cost(rows: list[list[int]]) -> int:
        width = max(sum(lengths[number] for number in row) for row in rows)
        return len(rows) * width * (_KEYS_OF_A_TOKEN + prefix + width)

    return min((_balanced(lengths, count) for count in range(1, len(lengths) + 1)), key=cost)


def _balanced(lengths: Sequence[int], count: int) -> list[list[int]]:
    """Longest first, each into the row that is shortest so far (Graham's rule for balanced machines)."""
    rows: list[list[int]] = [[] for _ in range(count)]
    widths = [0] * count
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        row = widths.index(min(widths))
        rows[row].append(number)
        widths[row] += lengths[number]
    return rows


def _padded(values: Iterable[Number], length: int, padding: Number) -> list[Number]:
    filled = list(values)
    return filled + [padding] * (length - len(filled))


def _opening(trajectory: Trajectory) -> Trajectory:
    """The trajectory up to its first turn that carries a loss: before it there may be one that was blocked."""
    learnt = next((n for n, turn in enumerate(trajectory.turns) if not _blocked(turn)), 0)
    return replace(trajectory, turns=trajectory.turns[: learnt + 1])


def _without_unscored_end(branch: Branch) -> Branch:
    """The branch up to its last scored token: nothing learns from what comes after."""
    end = max((n for n, weight in enumerate(branch.weights, start=1) if weight), default=len(branch.weights))
    return Branch(branch.token_ids[:end], branch.weights[:end])


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
    if _blocked(turn):
        return 0.0
    return weights.call if turn.calls else weights.reply


def _blocked(turn: Turn) -> bool:
    """Whether a hook, or an unknown name, refused the turn or a part of it."""
    return turn.verdict is not None or any(
        observation.kind in ("blocked", "unknown_name") for observation in turn.observations
    )
