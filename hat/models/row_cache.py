"""A key-value cache of many conversations of different lengths, without padding between their tokens.

Each slot holds one conversation; its token ``j`` is at column ``j``. New tokens are written at each slot's
own end, so that a query at position ``p`` sees exactly the columns up to ``p``: nothing else needs a mask.
"""

from dataclasses import dataclass
from typing import Any

import torch
from transformers import Cache, PretrainedConfig

_GROWTH = 128
"""Columns added at least, when a conversation outgrows the cache."""


@dataclass(frozen=True)
class CachePass:
    """What one forward pass writes and sees."""

    slots: slice
    """The slots that it sees."""
    visible: int
    """Their columns that it sees, from the first."""
    slot_of_token: torch.Tensor
    """(tokens,): where each new token is written."""
    column_of_token: torch.Tensor


class RowCache(Cache):
    """Keys and values of shape (layers, slots, key heads, columns, head size) in preallocated memory.

    The rows that a forward pass works on are always the first ones: `swap` brings them there.
    """

    def __init__(self, config: PretrainedConfig, slots: int, columns: int, dtype: torch.dtype) -> None:
        super().__init__(layers=[])
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._shape = (slots, heads, size)
        self._dtype = dtype
        count = config.num_hidden_layers
        self.keys = [torch.zeros(slots, heads, columns, size, dtype=dtype) for _ in range(count)]
        self.values = [torch.zeros(slots, heads, columns, size, dtype=dtype) for _ in range(count)]
        self._pass: CachePass | None = None

    @property
    def columns(self) -> int:
        return self.keys[0].shape[2]

    def aim(self, where: CachePass) -> None:
        """Say where the next forward pass writes and how many columns it sees; there must be room."""
        self._pass = where

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Called by each attention layer with the new keys and values: (1, heads, tokens, size).

        Returns:
            Keys and values of the pass's slots: (slots, heads, visible columns, size).
        """
        where = self._pass
        assert where is not None
        keys, values = self.keys[layer_idx], self.values[layer_idx]
        keys[where.slot_of_token, :, where.column_of_token] = key_states[0].transpose(0, 1)
        values[where.slot_of_token, :, where.column_of_token] = value_states[0].transpose(0, 1)
        return keys[where.slots, :, : where.visible], values[where.slots, :, : where.visible]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._pass.visible if self._pass else 0

    def reserve(self, columns: int) -> None:
        """Have room for that many columns."""
        if columns <= self.columns:
            return
        columns = max(columns, self.columns + _GROWTH)
        slots, heads, size = self._shape
        for tensors in (self.keys, self.values):
            for index, old in enumerate(tensors):
                new = torch.zeros(slots, heads, columns, size, dtype=self._dtype)
                new[:, :, : old.shape[2]] = old
                tensors[index] = new

    def swap(self, first: int, second: int, columns: int) -> None:
        """Exchange two slots' first columns."""
        if first == second:
            return
        for tensors in (self.keys, self.values):
            for tensor in tensors:
                held = tensor[first, :, :columns].clone()
                tensor[first, :, :columns] = tensor[second, :, :columns]
                tensor[second, :, :columns] = held
