"""Attention of many conversations that share prompt prefixes: each prefix's keys are read once for all its rows.

The two parts of a row's context, the shared prefix and its own tokens, are attended to apart and their outputs
merged by log-sum-exp, which is exact (Juravsky et al. 2024, Hydragen). Query heads that share a key head are
handled as further queries, so keys are never repeated.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface

from hat.models.row_cache import RowCache

ATTENTION = "hat_shared_prefix"
"""Name under which transformers' models find `shared_prefix_attention`."""
_HIDDEN = -1e30
"""Added to a hidden score; finite, so that a row without a prefix comes to its own part and not to NaN."""


@dataclass(frozen=True)
class PrefixPass:
    """Which prefix each row of one forward pass begins with."""

    keys: Sequence[torch.Tensor]
    """Per layer, (all prefixes, key heads, columns, head size)."""
    values: Sequence[torch.Tensor]
    chosen: slice | torch.Tensor
    """The prefixes that this pass needs."""
    mask: torch.Tensor
    """(prefixes, 1, 1, columns): 0, or `_HIDDEN` beyond a prefix's end."""
    rows_of_prefix: torch.Tensor
    """(prefixes, most rows of one prefix): row numbers, filled up with any."""
    place_of_row: torch.Tensor
    """(rows,): where each row stands in the flattened ``rows_of_prefix``."""
    without: torch.Tensor | None
    """(rows, 1, 1): `_HIDDEN` for rows that have no prefix, else 0; None when all have one."""


class PrefixBank:
    """Keys and values of the prefixes in use, stacked."""

    def __init__(self) -> None:
        self._index: dict[tuple[int, ...], int] = {}
        self._keys: list[torch.Tensor] = []
        self._values: list[torch.Tensor] = []
        self._mask = torch.empty(0)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, prefix: tuple[int, ...]) -> bool:
        return prefix in self._index

    def change(
        self,
        drop_all_but: Collection[tuple[int, ...]] | None,
        add: Sequence[tuple[tuple[int, ...], RowCache, int]],
    ) -> None:
        """Drop prefixes (None: no one), and add others: (token ids, the cache that holds them, its row)."""
        kept = [prefix for prefix in self._index if drop_all_but is None or prefix in drop_all_but]
        prefixes = [*kept, *(prefix for prefix, _, _ in add)]
        columns = max(map(len, prefixes), default=0)
        old = torch.tensor([self._index[prefix] for prefix in kept], dtype=torch.long)
        layers = len(add[0][1].keys) if add else len(self._keys)
        for mine, name in ((self._keys, "keys"), (self._values, "values")):
            stacked = []
            for layer in range(layers):
                example = getattr(add[0][1], name)[layer] if add else mine[layer]
                tensor = example.new_zeros(len(prefixes), example.shape[1], columns, example.shape[3])
                if kept:
                    width = min(columns, mine[layer].shape[2])
                    tensor[: len(kept), :, :width] = mine[layer][old, :, :width]
                for row, (prefix, cache, source) in enumerate(add, start=len(kept)):
                    tensor[row, :, : len(prefix)] = getattr(cache, name)[layer][source, :, : len(prefix)]
                stacked.append(tensor)
            mine[:] = stacked
        self._index = {prefix: row for row, prefix in enumerate(prefixes)}
        beyond = torch.arange(columns) >= torch.tensor([len(prefix) for prefix in prefixes])[:, None]
        mask = torch.zeros(beyond.shape, dtype=self._keys[0].dtype if self._keys else torch.float32)
        self._mask = mask.masked_fill_(beyond, _HIDDEN)[:, None, None, :]

    def for_rows(self, prefixes: Sequence[tuple[int, ...]]) -> PrefixPass | None:
        """What a pass over rows with these prefixes needs; None when none of them has any."""
        present = sorted({self._index[prefix] for prefix in prefixes if prefix})
        if not present:
            return None
        members: dict[int, list[int]] = {index: [] for index in present}
        for row, prefix in enumerate(prefixes):
            # A row without any prefix stands anywhere: its result is not used.
            members[self._index[prefix] if prefix else present[0]].append(row)
        most = max(map(len, members.values()))
        place = torch.empty(len(prefixes), dtype=torch.long)
        for group, rows in enumerate(members.values()):
            for position, row in enumerate(rows):
                place[row] = group * most + position
        filled = torch.tensor([rows + [0] * (most - len(rows)) for rows in members.values()])
        # A run of neighbours is a view; anything else is copied out, which still costs less than attending to all.
        is_run = present[-1] - present[0] + 1 == len(present)
        chosen = slice(present[0], present[-1] + 1) if is_run else torch.tensor(present)
        without = None
        if not all(prefixes):
            lacking = torch.tensor([not prefix for prefix in prefixes])
            without = torch.zeros(len(prefixes)).masked_fill_(lacking, _HIDDEN)[:, None, None]
        return PrefixPass(self._keys, self._values, chosen, self._mask[chosen], filled, place, without)


@dataclass(frozen=True)
class RowLayout:
    """How the packed tokens of one forward pass, row after row and without padding, belong to rows."""

    token_of_place: torch.Tensor
    """(rows, most tokens of a row): number of the packed token, filled up with any."""
    place_of_token: torch.Tensor
    """(tokens,): where each token stands in the flattened ``token_of_place``."""

    @staticmethod
    def of(counts: Sequence[int]) -> "RowLayout":
        """The layout of rows with that many new tokens each."""
        most = max(counts)
        number = torch.arange(most)
        first = torch.tensor([0, *counts[:-1]]).cumsum(0)[:, None]
        real = number < torch.tensor(counts)[:, None]
        places = torch.arange(len(counts) * most).view(len(counts), most)
        return RowLayout((first + number).where(real, first), places[real])


def shared_prefix_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float,
    layout: RowLayout,
    prefix_pass: PrefixPass | None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """In the form of transformers' attention functions.

    Args:
        query: (1, query heads, packed tokens, head size).
        key, value: (rows, key heads, columns, head size), each row's own tokens.
        attention_mask: (rows, 1, query heads per key head times most tokens, columns), added to the scores.

    Returns:
        (1, packed tokens, query heads, head size)
    """
    _, query_heads, _, size = query.shape
    rows, most = layout.token_of_place.shape
    heads = key.shape[1]
    # (rows, most, query heads, size), and then each key head with all queries that look at it.
    padded = query[0].transpose(0, 1)[layout.token_of_place]
    packed = padded.transpose(1, 2).reshape(rows, heads, query_heads // heads * most, size)
    output, weight = _attend(packed, key, value, attention_mask, scaling)
    if prefix_pass is not None:
        layer: int = module.layer_idx
        shared, shared_weight = _attend_to_prefix(packed, prefix_pass, layer, scaling)
        if prefix_pass.without is not None:
            shared_weight = shared_weight + prefix_pass.without
        together = torch.logaddexp(weight, shared_weight)
        own_share = torch.exp(weight - together)[..., None]
        output = (output * own_share + shared * (1 - own_share)).to(query.dtype)
    by_place = output.reshape(rows, query_heads, most, size).transpose(1, 2).flatten(0, 1)
    return by_place[layout.place_of_token][None], None


def _attend_to_prefix(
    packed: torch.Tensor, about: PrefixPass, layer: int, scaling: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Each row's attention to its prefix: output and log-sum-exp in the rows' order."""
    prefixes, most = about.rows_of_prefix.shape
    heads, queries, size = packed.shape[1:]
    grouped = packed[about.rows_of_prefix.flatten()].view(prefixes, most, heads, queries, size)
    grouped = grouped.transpose(1, 2).reshape(prefixes, heads, most * queries, size)
    mask = about.mask.expand(prefixes, 1, most * queries, about.mask.shape[-1])
    keys, values = about.keys[layer][about.chosen], about.values[layer][about.chosen]
    output, weight = _attend(grouped, keys, values, mask, scaling)
    output = output.view(prefixes, heads, most, queries, size).transpose(1, 2).flatten(0, 1)
    weight = weight.view(prefixes, heads, most, queries).transpose(1, 2).flatten(0, 1)
    return output[about.place_of_row], weight[about.place_of_row]


def _attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scaling: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention output (batch, heads, queries, size) and log-sum-exp of the scores (batch, heads, queries)."""
    # The one attention of PyTorch on CPU that also gives the log-sum-exp; `torch` is pinned exactly.
    output, weight = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, False, attn_mask=mask, scale=scaling
    )
    return output, weight


AttentionInterface.register(ATTENTION, shared_prefix_attention)
