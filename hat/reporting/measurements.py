"""From training logs and latency documents to the curves and distributions that a report shows."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hat.evaluation.statistics import percentile
from hat.reporting.model import Curve, Fact, Latency, Percentile, TrainingStage
from hat.reporting.values import items, mapping, mappings, number, text

STAGES: Mapping[str, tuple[str, str]] = {
    "sft": ("HSA-SFT: supervised, under varied harnesses", "loss"),
    "opd": ("General OPD: on-policy distillation from the base", "reverse KL to the teacher"),
    "rl": ("HSA-RL: group-relative policy optimisation", "mean reward"),
}
GENERATION = ("policy", "tasks", "accepted", "retries_collapsed", "retries_kept_whole")
"""Counts of the step `generate` that are shown, beside its tables of reasons."""
WITHOUT_LIMITS = (50.0, 90.0)
"""Percentiles that are shown when no gate asked for any."""


def read_training(logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[TrainingStage, ...]:
    """The stages that left a log, in their order."""
    return tuple(_stage(stage, logs[stage]) for stage in STAGES if logs.get(stage))


def _stage(stage: str, lines: Sequence[Mapping[str, Any]]) -> TrainingStage:
    title, axis = STAGES[stage]
    skipped = next((text(line["skipped"]) for line in lines if line.get("skipped")), "")
    steps = [line for line in lines if number(line.get("step"))]
    curves = {"sft": _loss, "opd": _divergence, "rl": _rewards}[stage](steps)
    return TrainingStage(
        name=stage,
        title=title,
        axis=axis,
        curves=tuple(curve for curve in curves if any(value is not None for _, value in curve.points)),
        steps=len(steps),
        seconds=sum(number(line.get("seconds")) or 0 for line in steps),
        skipped=skipped,
    )


def _loss(lines: Sequence[Mapping[str, Any]]) -> list[Curve]:
    return [_curve("loss", lines, lambda line: line.get("loss"))]


def _divergence(lines: Sequence[Mapping[str, Any]]) -> list[Curve]:
    # Where the trainer logs no divergence of its own, the loss is the divergence; a step of replay has none.
    own = [line for line in lines if "replay_loss" not in line]
    return [_curve("reverse KL", own, lambda line: line.get("kl", line.get("loss")))]


def _rewards(lines: Sequence[Mapping[str, Any]]) -> list[Curve]:
    components = list(dict.fromkeys(name for line in lines for name in mapping(line.get("rewards"))))
    total = _curve("total", lines, lambda line: line.get("reward"))
    return [total, *(_curve(name, lines, partial(_component, name)) for name in components)]


def _component(name: str, line: Mapping[str, Any]) -> Any:
    return mapping(line.get("rewards")).get(name)


def _curve(name: str, lines: Sequence[Mapping[str, Any]], read: Any) -> Curve:
    return Curve(name, tuple((int(number(line["step"]) or 0), number(read(line))) for line in lines))


def read_latency(document: Mapping[str, Any], verdict: Mapping[str, Any]) -> Latency | None:
    """The latency measurement with the gate's limits; None when there was none."""
    requests = sorted(mappings(document.get("requests")), key=_scheduled)
    if not requests:
        return None
    reasons = mappings(verdict.get("reasons"))
    warmups = (reason for reason in reasons if reason.get("metric") == "latency.warmup")
    excluded = next((_numbers(reason).get("excluded") for reason in warmups), 0)
    seconds = [_seconds(request) for request in requests]
    answered = [value for value in seconds if value is not None]
    # The gate excludes answered requests only, so these are the first ones that were answered.
    first = int(number(excluded) or 0)
    warmup, counted = answered[:first], answered[first:]
    before = [value for each in items(document.get("warmup")) if (value := number(each)) is not None]
    return Latency(
        counted=tuple(counted),
        warmup=tuple(before + warmup),
        unanswered=len(seconds) - len(answered),
        percentiles=_percentiles(reasons, counted),
        conditions=tuple(_conditions(document)),
    )


def _percentiles(reasons: Sequence[Mapping[str, Any]], counted: Sequence[float]) -> tuple[Percentile, ...]:
    judged = [reason for reason in reasons if text(reason.get("metric")).startswith("latency.p")]
    if judged:
        return tuple(_judged(reason) for reason in judged)
    if not counted:
        return ()
    estimates = ((f"P{each:g}", percentile(counted, each / 100)) for each in WITHOUT_LIMITS)
    return tuple(Percentile(name, estimate, None, None, "noted") for name, estimate in estimates)


def _judged(reason: Mapping[str, Any]) -> Percentile:
    numbers = _numbers(reason)
    return Percentile(
        name=text(reason["metric"]).removeprefix("latency.").upper(),
        estimate=number(numbers.get("estimate")),
        upper=number(numbers.get("high")),
        limit=number(numbers.get("limit")),
        outcome=text(reason.get("outcome")),
    )


def _conditions(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    if document.get("arrival") == "closed-loop":
        load = f"closed loop, {text(document.get('concurrency'))} at a time"
    else:
        load = f"Poisson arrivals, {text(document.get('rate'))} a second"
    keys = ("engine", "hardware", "cpu", "cores")
    shown = [(key.capitalize(), document.get(key)) for key in keys] + [("Load", load)]
    conditions = [("CPU" if name == "Cpu" else name, text(value)) for name, value in shown if value]
    if document.get("shared_device"):
        conditions.append(("Device", "shared with other work while measuring"))
    return conditions


def facts_of_generation(document: Mapping[str, Any]) -> tuple[Fact, ...]:
    """What the step `generate` counted: tasks tried, trajectories accepted, and rejections by reason."""
    facts = []
    for name, value in document.items():
        label = name.replace("_", " ").capitalize()
        if isinstance(value, Mapping):
            facts += [Fact(f"{label}: {key}", text(count)) for key, count in value.items()]
        elif name in GENERATION and isinstance(value, (int, float, str)):
            facts.append(Fact(label, text(value)))
    return tuple(facts)


def _seconds(request: Mapping[str, Any]) -> float | None:
    finished, scheduled = number(request.get("finished")), number(request.get("scheduled"))
    if request.get("status") != "ok" or finished is None or scheduled is None or finished < scheduled:
        return None
    return finished - scheduled


def _scheduled(request: Mapping[str, Any]) -> tuple[float, str]:
    return number(request.get("scheduled")) or 0.0, text(request.get("id"))


def _numbers(reason: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(reason.get("numbers"))
