"""Stops a training run whose numbers broke, before a broken checkpoint can replace the last good one."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from hat.errors import EnvironmentFailure

WATCHED = ("loss", "grad_norm", "kl", "entropy", "reward")
"""Logged numbers that must be finite; every key that begins with ``rewards/`` is watched too."""

REQUIRED_ARGUMENTS: Mapping[str, Any] = {"logging_nan_inf_filter": False, "logging_steps": 1}
"""What `transformers.TrainingArguments` must say for `StopOnBrokenNumbers` to see every step's own loss.

The filter, on by default, replaces a NaN loss by the mean of the earlier ones.
"""


class BrokenNumbers(EnvironmentFailure):
    """Training met a number that no correct step produces."""


class StopOnBrokenNumbers(TrainerCallback):
    """Raises `BrokenNumbers` at the first broken step.

    Gradients are checked before the optimiser uses them, so the weights in memory stay those of the last
    good step; the logged numbers are checked before the Trainer saves, so no checkpoint of a broken step is
    written.

    ``zero_loss_stops``: a loss of exactly 0.0 means that nothing was learnt from, as when every label is
    masked. Say True for SFT and distillation. Under GRPO it is normal: the surrogate is 0 wherever every
    ratio is 1 and the advantages sum to 0, and a group of equal rewards gives none; there, gradient norm and
    rewards tell.
    """

    def __init__(self, stage: str, *, zero_loss_stops: bool) -> None:
        self._stage = stage
        self._zero_loss_stops = zero_loss_stops

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        for name, value in REQUIRED_ARGUMENTS.items():
            if getattr(args, name) != value:
                raise ValueError(f"StopOnBrokenNumbers needs {name}={value!r}: otherwise it sees averages")

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        gradients = [p.grad for p in kwargs["model"].parameters() if p.grad is not None]
        if gradients and not gradients_are_finite(gradients):
            # The Trainer counts the step only after the optimiser has made it.
            raise self._broken("the gradient is not finite", state.global_step + 1, args)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        problem = broken_number(logs or {}, zero_loss_stops=self._zero_loss_stops)
        if problem:
            raise self._broken(problem, state.global_step, args)

    def _broken(self, problem: str, step: int, args: TrainingArguments) -> BrokenNumbers:
        folder = Path(args.output_dir or ".")
        kept = get_last_checkpoint(str(folder)) if folder.is_dir() else None
        where = f"{self._stage}, step {step}"
        left = (
            f"the last good checkpoint is {Path(kept).name}" if kept else "no checkpoint had been written yet"
        )
        mend = f"Lower the learning rate or look at the data of this step; {left}."
        return BrokenNumbers(problem, where=where, mend=mend)


def broken_number(logs: Mapping[str, Any], *, zero_loss_stops: bool) -> str:
    """What is wrong with one step's logged numbers, or an empty text.

    A ``kl`` of None is broken: TRL drops NaN values before it logs a mean, and logs None when none is left. A
    reward of None means that no rollout of the step could be scored, which is finite: all advantages are 0.
    """
    for name, value in logs.items():
        watched = name in WATCHED or name.startswith("rewards/")
        if watched and isinstance(value, int | float) and not math.isfinite(value):
            return f"{name} is {value}"
        if name == "kl" and value is None:
            return "kl is NaN"
    if zero_loss_stops and logs.get("loss") == 0.0:
        return "the loss is exactly 0.0, so nothing was learnt from (are all labels masked?)"
    return ""


def gradients_are_finite(gradients: list[torch.Tensor]) -> bool:
    """Whether every element is finite; one reduction over each tensor and one comparison for all."""
    norms = torch._foreach_norm(gradients)
    return bool(torch.isfinite(torch.stack([norm.float() for norm in norms])).all())
