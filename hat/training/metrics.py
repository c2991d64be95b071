"""The training log: one JSON line for each optimiser step, and the run's progress."""

import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hat.files import write_text_atomic
from hat.runs import progress

SCHEMA_VERSION = 1


class StepLog(TrainerCallback):
    """Appends ``{stage, step, loss, grad_norm, learning_rate, kl, rewards, tokens, seconds, ...}`` a step.

    ``tokens`` and ``seconds`` are the step's own (sampling included), not sums. A number that is not finite
    is written as null and named under ``not_finite``. Give this callback before `StopOnBrokenNumbers`: so the
    step that stops a run is in the log. A resumed run keeps the lines of the steps its checkpoint has.

    ``extra`` is called once a step for what the trainer itself does not log.
    """

    def __init__(self, stage: str, path: Path, extra: Callable[[], Mapping[str, Any]] | None = None) -> None:
        self._stage = stage
        self._path = Path(path)
        self._extra = extra
        self._started = time.monotonic()
        self._tokens_before = 0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        kept = [line for line in read_step_log(self._path) if line["step"] <= state.global_step]
        write_text_atomic(self._path, "".join(_line(line) for line in kept))
        self._tokens_before = int(state.num_input_tokens_seen)
        progress.report(self._stage, state.global_step, state.max_steps)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._started = time.monotonic()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not logs or "loss" not in logs:  # the Trainer's closing summary has no step of its own
            return
        line = step_line(logs)
        tokens = int(logs.get("num_tokens") or state.num_input_tokens_seen)
        line["tokens"] = tokens - self._tokens_before
        self._tokens_before = tokens
        line["seconds"] = round(time.monotonic() - self._started, 3)
        line = {"schema_version": SCHEMA_VERSION, "stage": self._stage, "step": state.global_step, **line}
        if self._extra is not None:
            line.update(self._extra())
        with open(self._path, "a", encoding="utf-8") as handle:
            handle.write(_line(line))
        progress.report(self._stage, state.global_step, state.max_steps, f"loss {logs['loss']:.4g}")


def step_line(logs: Mapping[str, Any]) -> dict[str, Any]:
    """One step's numbers under stable names: ``rewards/NAME/mean`` becomes ``rewards: {NAME: mean}``."""
    line: dict[str, Any] = {}
    rewards: dict[str, float | None] = {}
    not_finite: list[str] = []
    for name, value in logs.items():
        if name in ("epoch", "num_tokens", "step_time") or not isinstance(value, int | float | None):
            continue
        if value is not None and not math.isfinite(value):
            not_finite.append(name)
            value = None
        parts = name.split("/")
        if parts[0] != "rewards":
            line[name] = value
        elif parts[-1] == "mean":
            rewards["/".join(parts[1:-1])] = value
    if rewards:
        line["rewards"] = rewards
    if not_finite:
        line["not_finite"] = not_finite
    return line


def read_step_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a training log, oldest first; none when there is no file. A torn last line is left out."""
    if not Path(path).exists():
        return []
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def write_passed_through(stage: str, path: Path, reason: str) -> None:
    """The log of a stage that was off: one line that says why the model passed through unchanged."""
    line = {"schema_version": SCHEMA_VERSION, "stage": stage, "step": 0, "skipped": reason}
    write_text_atomic(path, _line(line))


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
