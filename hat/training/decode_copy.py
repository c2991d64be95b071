"""A copy of the model in training to sample from, in bf16 where that is faster: decoding under autocast is slowest."""

import copy
from typing import Any

import torch

from hat.errors import EnvironmentFailure
from hat.models.precision import compute_dtype

_PROBE = 64
"""Elements of each parameter that are compared to tell whether the copy is in step."""


class DecodeCopy:
    """The copy and the policy version it holds: the optimiser steps made so far; -1 before `sync`."""

    def __init__(self, model: Any) -> None:
        self.model = copy.deepcopy(model).to(compute_dtype()).eval().requires_grad_(False)
        self.model.zero_grad(set_to_none=True)
        self.version = -1

    @torch.no_grad()
    def sync(self, model: Any, version: int) -> None:
        """Take over the weights of ``model``, which is at ``version``, if they are not here yet."""
        if version == self.version:
            return
        for mine, theirs in zip(self.model.parameters(), model.parameters(), strict=True):
            mine.copy_(theirs)
        self.version = version

    def check(self, model: Any, version: int) -> None:
        """Raises `EnvironmentFailure` when this is not ``model`` at ``version``: rollouts would be stale."""
        if version == self.version and self._agrees(model):
            return
        raise EnvironmentFailure(
            f"the sampling weights are of policy version {self.version}, the model's of {version}",
            where="rollouts",
            mend="The copy must be synced after every optimiser step: this is a fault of the program.",
        )

    @torch.no_grad()
    def _agrees(self, model: Any) -> bool:
        pairs = zip(self.model.parameters(), model.parameters(), strict=True)
        return all(
            torch.equal(mine.flatten()[:_PROBE], theirs.flatten()[:_PROBE].to(mine.dtype))
            for mine, theirs in pairs
        )
