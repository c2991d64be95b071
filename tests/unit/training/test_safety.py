import json
import math
from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from hat.errors import EnvironmentFailure
from hat.training.metrics import StepLog, read_step_log, step_line
from hat.training.safety import BrokenNumbers, StopOnBrokenNumbers, broken_number, gradients_are_finite


class Faulty(nn.Module):
    """A linear model whose loss is replaced at one step."""

    def __init__(
        self, broken_step: int = 0, broken: float | None = None, break_gradient: bool = False
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.step = 0
        self.broken_step = broken_step
        self.broken = broken
        self.break_gradient = break_gradient

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        self.step += 1
        loss = ((self.linear(x) - labels) ** 2).mean() + 1.0
        if self.step == self.broken_step:
            if self.broken is not None:
                loss = loss * 0 + self.broken
            if self.break_gradient:
                self.linear.weight.register_hook(lambda gradient: gradient * math.nan)
        return {"loss": loss}


def train(
    model: nn.Module, folder: Path, *, zero_loss_stops: bool = True, resume: bool = False, steps: int = 5
) -> None:
    arguments = TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        max_steps=steps,
        per_device_train_batch_size=2,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_steps=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    rows = [{"x": torch.ones(2), "labels": torch.zeros(1)} for _ in range(20)]
    callbacks = [
        StepLog("sft", folder / "log.jsonl"),
        StopOnBrokenNumbers("sft", zero_loss_stops=zero_loss_stops),
    ]
    Trainer(model=model, args=arguments, train_dataset=rows, callbacks=callbacks).train(
        resume_from_checkpoint=resume
    )


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").iterdir())


@pytest.mark.parametrize(
    ("broken", "told"), [(math.nan, "loss is nan"), (0.0, "exactly 0.0"), (math.inf, "loss is inf")]
)
def test_a_broken_loss_stops_the_run_and_the_last_good_checkpoint_stays(
    tmp_path: Path, broken: float, told: str
) -> None:
    with pytest.raises(BrokenNumbers, match=told) as stopped:
        train(Faulty(broken_step=3, broken=broken), tmp_path)
    assert isinstance(stopped.value, EnvironmentFailure)
    assert stopped.value.where == "sft, step 3"
    assert checkpoints(tmp_path)[-1] == "checkpoint-2"
    assert "checkpoint-2" in stopped.value.mend


def test_a_nan_gradient_under_a_loss_of_zero_stops_even_where_zero_loss_is_normal(tmp_path: Path) -> None:
    with pytest.raises(BrokenNumbers, match="gradient is not finite"):
        train(Faulty(broken_step=2, broken=0.0, break_gradient=True), tmp_path, zero_loss_stops=False)


def test_the_weights_in_memory_stay_those_of_the_last_good_step(tmp_path: Path) -> None:
    model = Faulty(broken_step=2, break_gradient=True)
    with pytest.raises(BrokenNumbers):
        train(model, tmp_path)
    assert torch.isfinite(model.linear.weight).all()


def test_zero_loss_is_normal_when_the_stage_says_so(tmp_path: Path) -> None:
    train(Faulty(broken_step=2, broken=0.0), tmp_path, zero_loss_stops=False)
    assert len(read_step_log(tmp_path / "log.jsonl")) == 5


def test_settings_that_hide_a_broken_step_are_refused(tmp_path: Path) -> None:
    arguments = TrainingArguments(output_dir=str(tmp_path), logging_steps=1, use_cpu=True, report_to=[])
    with pytest.raises(ValueError, match="logging_nan_inf_filter"):
        StopOnBrokenNumbers("sft", zero_loss_stops=True).on_train_begin(arguments, None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("logs", "problem"),
    [
        ({"loss": 0.1, "kl": math.nan}, "kl is nan"),
        ({"loss": 0.1, "kl": None}, "kl is NaN"),
        ({"loss": 0.1, "rewards/accuracy/mean": math.inf}, "rewards/accuracy/mean is inf"),
        ({"loss": 0.1, "rewards/accuracy/mean": None}, ""),
        ({"loss": 0.1, "grad_norm": 0.0}, ""),
        ({"train_loss": 0.0}, ""),
    ],
)
def test_each_watched_number_is_judged(logs: dict[str, float | None], problem: str) -> None:
    assert broken_number(logs, zero_loss_stops=True) == problem


def test_one_bad_element_among_many_gradients_is_found() -> None:
    gradients = [torch.zeros(1000), torch.zeros(3, 3)]
    assert gradients_are_finite(gradients)
    gradients[0][517] = math.nan
    assert not gradients_are_finite(gradients)


def test_the_log_has_one_line_a_step_with_its_numbers(tmp_path: Path) -> None:
    train(Faulty(), tmp_path)
    lines = read_step_log(tmp_path / "log.jsonl")
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5]
    assert all(line["stage"] == "sft" and line["loss"] >= 1.0 and line["seconds"] >= 0 for line in lines)


def test_the_step_that_stops_a_run_is_in_the_log(tmp_path: Path) -> None:
    with pytest.raises(BrokenNumbers):
        train(Faulty(broken_step=3, broken=0.0), tmp_path)
    assert read_step_log(tmp_path / "log.jsonl")[-1]["loss"] == 0.0


def test_a_resumed_run_continues_the_log_without_doubled_steps(tmp_path: Path) -> None:
    train(Faulty(), tmp_path, steps=3)
    with open(tmp_path / "log.jsonl", "a", encoding="utf-8") as handle:
        handle.write(json.dumps({"step": 4, "stage": "sft", "loss": 9.0}) + '\n{"step": 5, "torn')
    train(Faulty(), tmp_path, steps=5, resume=True)
    lines = read_step_log(tmp_path / "log.jsonl")
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5]
    assert lines[3]["loss"] != 9.0


def test_numbers_that_are_not_finite_are_named_and_stay_json() -> None:
    line = step_line(
        {"loss": math.nan, "rewards/accuracy/mean": 0.5, "rewards/accuracy/std": 0.1, "epoch": 1.0}
    )
    assert line == {"loss": None, "rewards": {"accuracy": 0.5}, "not_finite": ["loss"]}
    json.dumps(line, allow_nan=False)
