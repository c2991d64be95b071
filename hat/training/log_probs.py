"""Log-probabilities of sampled tokens: a shared prompt computed once, the vocabulary only where it counts."""

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Batch:
    """Prompts (B, P), padded on the left; completions (B, C), padded on the right; masks are 1 at tokens."""

    prompt_ids: torch.Tensor
    prompt_mask: torch.Tensor
    completion_ids: torch.Tensor
    completion_mask: torch.Tensor


@dataclass(frozen=True)
class Scored:
    """Both (B, C), 0 at tokens that are not scored."""

    log_probs: torch.Tensor
    entropies: torch.Tensor
    """In nats; without gradient."""


def scored_log_probs(model: Any, batch: Batch, scored: torch.Tensor, temperature: float) -> Scored:
    """Log-probabilities of the scored completion tokens under the model at ``temperature``.

    Rows with the same prompt share one computation of it; gradients flow through the shared keys and values.

    Args:
        scored: (B, C) boolean.
    """
    completion_ids = batch.completion_ids
    log_probs = torch.zeros(completion_ids.shape, dtype=torch.float32, device=completion_ids.device)
    entropies = torch.zeros_like(log_probs)
    for rows in _rows_by_prompt(batch):
        prompt = batch.prompt_ids[rows[0]][batch.prompt_mask[rows[0]].bool()]
        hidden = _hidden_before(model, prompt, completion_ids[rows], batch.completion_mask[rows])
        chosen = scored[rows]
        logits = model.get_output_embeddings()(hidden[chosen]).float() / temperature
        all_log_probs = torch.log_softmax(logits, dim=-1)
        taken = all_log_probs.gather(-1, completion_ids[rows][chosen][:, None]).squeeze(-1)
        with torch.no_grad():
            entropy = -(all_log_probs.exp() * all_log_probs).sum(-1)
        at_row, at_column = chosen.nonzero(as_tuple=True)
        place = (torch.tensor(rows, device=at_row.device)[at_row], at_column)
        log_probs = log_probs.index_put(place, taken)
        entropies = entropies.index_put(place, entropy)
    return Scored(log_probs, entropies)


def _rows_by_prompt(batch: Batch) -> list[list[int]]:
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, (ids, mask) in enumerate(
        zip(batch.prompt_ids.tolist(), batch.prompt_mask.tolist(), strict=True)
    ):
        rows.setdefault(tuple(i for i, kept in zip(ids, mask, strict=True) if kept), []).append(row)
    return list(rows.values())


def _hidden_before(
    model: Any, prompt: torch.Tensor, completions: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """(rows, C, H): at column t the hidden state that predicts completion token t."""
    count, width = completions.shape
    prefix = model.base_model(input_ids=prompt[None], use_cache=True)
    first = prefix.last_hidden_state[:, -1:].expand(count, 1, -1)
    if width == 1:
        return first
    cache = prefix.past_key_values
    cache.batch_repeat_interleave(count)
    positions = len(prompt) + torch.arange(width - 1, device=prompt.device)
    seen = torch.cat([mask.new_ones(count, len(prompt)), mask[:, :-1]], dim=1)
    rest = model.base_model(
        input_ids=completions[:, :-1],
        position_ids=positions[None].expand(count, -1),
        attention_mask=seen,
        cache=cache,
        use_cache=True,
    ).last_hidden_state
    return torch.cat([first, rest], dim=1)
