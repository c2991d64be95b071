"""Replay of supervised packs in distillation and reinforcement learning, so that what SFT taught stays."""

import random
from dataclasses import dataclass
from typing import Any

import torch

from hat.errors import BadInput
from hat.training.collator import PackCollator


@dataclass(frozen=True)
class Replay:
    """Every ``every``-th step learns from supervised packs in place of the stage's own data."""

    every: int
    """At least 2."""
    collator: PackCollator
    seed: int

    def is_due(self, step: int) -> bool:
        """Whether this step, counted from 0, is one of replay."""
        return (step + 1) % self.every == 0

    def inputs(self, number: int, device: torch.device) -> dict[str, Any]:
        """The tensors of the replayed pack ``number``: all packs in an order of chance, then all in another."""
        packs = self.collator.packs
        order = list(range(len(packs)))
        random.Random(f"replay/{self.seed}/{number // len(packs)}").shuffle(order)
        return on_device(self.collator.tensors(packs[order[number % len(packs)]]), device)


def replay_of(every: int, collator: PackCollator | None, seed: int) -> Replay | None:
    """The replay of a stage; None where ``every`` is 0.

    Raises:
        BadInput: there is nothing to replay.
    """
    if not every:
        return None
    if collator is None or not collator.packs:
        raise BadInput(
            "there are no supervised packs to replay",
            where="replay_every",
            mend="Give the trajectories that SFT learnt from, or set replay_every to 0.",
        )
    return Replay(every, collator, seed)


def on_device(inputs: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """The tensors, also those of twins, on a device."""
    return {
        name: on_device(value, device) if isinstance(value, dict) else value.to(device)
        for name, value in inputs.items()
    }
