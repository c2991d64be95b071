"""Turns planned packs into tensors, and into the loss of one step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.harness.model import Harness
from hat.training.packing import Pack, SegmentWeights, build_pack, collate_pack, pack_loss
from hat.training.plan import PlannedPack


@dataclass(frozen=True)
class PackCollator:
    """Turns a row that names a planned pack into tensors; states are drawn here and kept nowhere."""

    packs: Sequence[PlannedPack]
    harness: Harness
    augment: AugmentConfig
    tokenizer: PreTrainedTokenizerBase
    weights: SegmentWeights

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        (row,) = rows
        return self.tensors(self.packs[row["pack"]])

    def tensors(self, planned: PlannedPack) -> dict[str, Any]:
        """What `step_loss` takes: `hat.training.packing.collate_pack`'s, with those of its twins under ``twin``."""
        inputs: dict[str, Any] = collate_pack(self._pack(planned))
        if planned.twin is not None:
            inputs["twin"] = collate_pack(self._pack(planned.twin))
        return inputs

    def tokens(self, planned: PlannedPack) -> int:
        """Tokens of a planned pack and its twins, without padding, a shared prompt counted once."""
        return self._pack(planned).tokens + (self.tokens(planned.twin) if planned.twin else 0)

    def _pack(self, planned: PlannedPack) -> Pack:
        return build_pack(
            planned.trajectories, self._state(planned), self.tokenizer, self.weights, planned.openings
        )

    def _state(self, planned: PlannedPack) -> HarnessState:
        if planned.state is not None:
            return planned.state
        if planned.state_seed is None:
            return HarnessState.original(self.harness)
        return sample_state(self.harness, seed=planned.state_seed, split="train", config=self.augment)


def step_loss(model: torch.nn.Module, inputs: dict[str, Any]) -> torch.Tensor:
    """The loss of one pack; of a pack with twins, the mean over both members."""
    loss = pack_loss(model, inputs)
    twin = inputs.get("twin")
    return loss if twin is None else (loss + pack_loss(model, twin)) / 2


def count_tokens(inputs: dict[str, Any]) -> dict[str, int]:
    """Of what `PackCollator` made: tokens computed (padding included), tokens without padding, tokens with a loss."""
    counts = dict.fromkeys(("tokens", "training_tokens", "scored_tokens"), 0)
    twin = inputs.get("twin")
    for pack in (inputs, twin) if twin is not None else (inputs,):
        counts["tokens"] += pack["prefix_ids"].numel() + pack["branch_ids"].numel()
        counts["training_tokens"] += int(pack["training_tokens"])
        counts["scored_tokens"] += int(pack["loss_weights"].count_nonzero())
    return counts
