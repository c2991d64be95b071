"""The latency criteria: percentiles with a confidence bound, counted from the scheduled send."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from hat.evaluation.statistics import (
    minimum_n_for_percentile,
    percentile,
    percentile_lower_bound,
    percentile_upper_bound,
)
from hat.promotion.documents import EvidenceSubject, LatencyDocument, LatencyRequest
from hat.promotion.evidence import LATENCY
from hat.promotion.integrity import equipment_reasons, missing, name_some
from hat.promotion.load import load_faults
from hat.promotion.policy import LatencyPolicy, Measure, PercentileLimit, Policy
from hat.promotion.reasons import Reason, ReasonCode


def latency_reasons(
    policy: Policy, document: LatencyDocument | None, subject: EvidenceSubject
) -> list[Reason]:
    """A finding for every percentile, and what was excluded as warm-up.

    Limits are not judged on another model or harness than the subject's, nor on an engine, hardware or load that
    the policy does not name.
    """
    limits = policy.latency
    if limits is None:
        return []
    if document is None:
        return [missing("latency", "latency was not measured")]
    faults = equipment_reasons(policy, document.engine, document.hardware, "latency")
    faults += _attribution(document, subject)
    faults += _load(limits, document)
    faults += _request_faults(document.requests)
    if not faults:
        faults += load_faults(document)
    if faults:
        return faults
    ordered = sorted(document.requests, key=lambda request: (request.scheduled, request.id))
    first = ordered[: limits.warmup_requests]
    # A warm-up excuses slowness, not a failure: errors among the first requests still count as misses.
    excluded = [request for request in first if request.status == "ok"]
    counted = [request for request in first if request.status != "ok"] + ordered[limits.warmup_requests :]
    token_fault = _token_fault(document.requests)
    reasons = [_judge(limit, counted, token_fault).with_severity(limit.severity) for limit in limits.limits]
    if excluded or document.warmup:
        reasons.append(_warmup([seconds_of(request) for request in excluded], document.warmup))
    return reasons


def seconds_of(request: LatencyRequest, measure: Measure = "reply") -> float:
    """From scheduled send to complete reply or first token; infinite when no reply came.

    A first token of an answer that then failed is no answer.
    """
    end = request.finished if measure == "reply" else request.first_token
    if request.status != "ok" or request.finished is None or end is None:
        return math.inf
    return end - request.scheduled


def _attribution(document: LatencyDocument, subject: EvidenceSubject) -> Iterable[Reason]:
    """Times of another model, or under another harness, say nothing about this pair."""
    for what, code, found, expected in (
        ("model", ReasonCode.MODEL_MISMATCH, document.model_digest, subject.models.candidate),
        ("harness", ReasonCode.HARNESS_MISMATCH, document.harness_digest, subject.harness_digest),
    ):
        if not found:
            yield missing(f"latency.{what}", f"{LATENCY} does not say which {what} was timed")
        elif found != expected:
            message = f"{LATENCY} is about {what} {found[:12]}, the subject about {expected[:12]}"
            yield Reason(code, f"latency.{what}", message)


def _percentile(limit: PercentileLimit, seconds: Sequence[float]) -> Reason:
    label = "latency" if limit.measure == "reply" else "time to first token"
    name = ("latency" if limit.measure == "reply" else "latency.first_token") + f".p{limit.percentile:g}"
    fraction, allowed = limit.percentile / 100, limit.milliseconds / 1000
    n, over = len(seconds), sum(value > allowed for value in seconds)
    numbers: dict[str, float | int] = {"n": n, "over": over, "limit": allowed}
    what = f"P{limit.percentile:g} at {limit.confidence:.0%}"
    if n == 0:
        message = f"{label} {what} needs at least {limit.minimum_n} requests, has none after warm-up"
        return Reason(ReasonCode.TOO_FEW_SAMPLES, name, message, {**numbers, "needed_n": limit.minimum_n})
    estimate = percentile(seconds, fraction)
    upper = percentile_upper_bound(seconds, fraction, limit.confidence)
    lower = percentile_lower_bound(seconds, fraction, limit.confidence)
    for key, value in (("estimate", estimate), ("low", lower), ("high", upper)):
        if value is not None and math.isfinite(value):
            numbers[key] = value
    bound = "unknown" if upper is None else _text(upper)
    seen = (
        f"{label} P{limit.percentile:g} is {_text(estimate)}, upper bound {bound} at {limit.confidence:.0%}, "
        f"{over} of {n} requests over the limit of {allowed:g} s"
    )
    if upper is not None and upper <= allowed:
        return Reason(ReasonCode.MET, name, seen, numbers)
    if (lower is not None and lower > allowed) or (upper is not None and estimate > allowed):
        return Reason(ReasonCode.LATENCY_ABOVE_LIMIT, name, seen, numbers)
    needed = minimum_n_for_percentile(fraction, limit.confidence, over)
    if upper is None:
        message = f"{seen}; {what} needs at least {limit.minimum_n} requests with none over, has {n}"
        if over:
            message += f" (at least {needed} with {over} over)"
        return Reason(ReasonCode.TOO_FEW_SAMPLES, name, message, {**numbers, "needed_n": needed})
    message = f"{seen}; with {over} over, {what} needs at least {needed} requests"
    return Reason(ReasonCode.NOT_PROVEN, name, message, {**numbers, "needed_n": needed})


def _load(limits: LatencyPolicy, document: LatencyDocument) -> list[Reason]:
    asked = _describe_load(limits.arrival, limits.concurrency, limits.rate)
    had = _describe_load(document.arrival, document.concurrency, document.rate)
    if limits.arrival == "closed-loop":
        same = document.arrival == "closed-loop" and document.concurrency == limits.concurrency
    else:
        same = (
            document.arrival == "poisson"
            and document.rate is not None
            and limits.rate is not None
            and document.rate >= limits.rate
            and limits.concurrency in (None, document.concurrency)
        )
    faults = []
    if not same:
        message = f"measured under {had}, asked for {asked}"
        faults.append(Reason(ReasonCode.LOAD_MISMATCH, "latency.load", message))
    if document.shared_device and not limits.shared_device:
        message = "other work shared the device while latency was measured"
        faults.append(Reason(ReasonCode.SHARED_DEVICE, "latency.shared_device", message))
    return faults


def _describe_load(arrival: str, concurrency: int | None, rate: float | None) -> str:
    if arrival == "closed-loop":
        return f"closed loop, {concurrency} at a time"
    bound = "" if concurrency is None else f", {concurrency} answered at once"
    return f"Poisson arrivals, {rate} a second{bound}"


def _request_faults(requests: Sequence[LatencyRequest]) -> Iterable[Reason]:
    name = "latency.requests"
    if not requests:
        yield Reason(ReasonCode.EMPTY, name, "no request was sent")
        return
    counts = Counter(request.id for request in requests)
    repeated = [request for request, count in counts.items() if count > 1]
    if repeated:
        yield Reason(ReasonCode.INCONSISTENT, name, f"requests recorded twice: {name_some(repeated)}")
    endless = [request.id for request in requests if request.status == "ok" and request.finished is None]
    if endless:
        yield missing(name, f"requests answered without a finishing time: {name_some(endless)}")
    answered = [request for request in requests if request.status == "ok" and request.finished is not None]
    strange = {request.id for request in requests if not math.isfinite(request.scheduled)}
    strange |= {request.id for request in answered if not math.isfinite(seconds_of(request))}
    if strange:
        yield Reason(ReasonCode.NOT_A_NUMBER, name, f"times that are not numbers: {name_some(strange)}")
    early = {request.id for request in answered if seconds_of(request) < 0}
    if early:
        message = f"answered before they were scheduled: {name_some(early)}"
        yield Reason(ReasonCode.INCONSISTENT, name, message)


def _judge(limit: PercentileLimit, counted: Sequence[LatencyRequest], token_fault: Reason | None) -> Reason:
    """One limit; times of the first token that are not there, or not fit, unprove only the limits about them."""
    if limit.measure == "first_token" and token_fault is not None:
        return token_fault
    return _percentile(limit, [seconds_of(request, limit.measure) for request in counted])


def _token_fault(requests: Sequence[LatencyRequest]) -> Reason | None:
    """Why the times of the first token cannot be used."""
    name = "latency.first_token"
    answered = [request for request in requests if request.status == "ok"]
    silent = [request.id for request in answered if request.first_token is None]
    if silent:
        return missing(name, f"requests answered without a time of the first token: {name_some(silent)}")
    waits = {request.id: seconds_of(request, "first_token") for request in answered}
    strange = [identity for identity, wait in waits.items() if not math.isfinite(wait)]
    if strange:
        message = f"times of the first token that are not numbers: {name_some(strange)}"
        return Reason(ReasonCode.NOT_A_NUMBER, name, message)
    odd = [request.id for request in answered if not 0 <= waits[request.id] <= seconds_of(request)]
    if odd:
        message = f"first token before the send or after the end of the reply: {name_some(odd)}"
        return Reason(ReasonCode.INCONSISTENT, name, message)
    return None


def _warmup(excluded: Sequence[float], before: Sequence[float]) -> Reason:
    parts = []
    if excluded:
        times = ", ".join(_text(value) for value in excluded)
        parts.append(f"the first {len(excluded)} requests are excluded as warm-up: {times}")
    if before:
        times = ", ".join(_text(value) for value in before)
        parts.append(f"{len(before)} sent before the measurement: {times}")
    numbers = {"excluded": len(excluded), "before": len(before)}
    return Reason(ReasonCode.WARMUP_EXCLUDED, "latency.warmup", "; ".join(parts), numbers)


def _text(seconds: float) -> str:
    return f"{seconds:.2f} s" if math.isfinite(seconds) else "no answer"
