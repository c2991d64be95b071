"""Fills a `RunReport` from what a run left in the store; one that failed early is shown as far as it came."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from hat.reporting.documents import RunDocuments, read_documents
from hat.reporting.measurements import facts_of_generation, read_latency, read_training
from hat.reporting.model import ROLES, Fact, ReasonLine, RunReport, Step
from hat.reporting.quality import read_failures, read_slices, read_suites, title_of
from hat.reporting.values import mapping, mappings, number, text
from hat.storage import Store

_METRIC = re.compile(r"(\w+)\.(\w+)(?:\[(\w+)=([^\]]*)\])?(?: vs (\w+))?")
VERDICTS = ("PASS", "FAIL", "INCONCLUSIVE")
OUTCOMES = ("failed", "unproven", "met", "noted")


def collect_run(store: Store, run: str) -> RunReport:
    """Everything that can be shown of a run. Raises nothing because of absent or broken documents."""
    return build_report(read_documents(store, run), run)


def build_report(found: RunDocuments, run: str) -> RunReport:
    """The report of documents that were read. Pure."""
    record = found.record
    word = found.verdict.get("verdict") or record.get("verdict")
    failures, totals = read_failures(found.evaluations)
    return RunReport(
        run=run,
        harness=text(record.get("harness") or found.subject.get("harness")),
        version=text(record.get("version") or found.subject.get("version")),
        verdict=word if word in VERDICTS else None,
        status=text(record.get("status")),
        summary=_summary(record, word),
        error=text(mapping(record.get("error")).get("message")),
        reasons=_reasons(found.verdict),
        facts=tuple(_facts(found)),
        suites=read_suites(found.evaluations, found.verdict),
        slices=read_slices(found.evaluations),
        data=facts_of_generation(found.generation),
        training=read_training(found.logs),
        latency=read_latency(found.latency, found.verdict),
        failures=failures,
        failures_total=totals,
        steps=tuple(_steps(record)),
        digests=tuple(_digests(found)),
        synthetic=tuple(_synthetic(found)),
        missing=(*_absent(found), *found.problems),
    )


def _summary(record: Mapping[str, Any], word: Any) -> str:
    pair = f"{text(record.get('harness'))}@{text(record.get('version'))}"
    trained = "the model trained in this run"
    model = trained if record.get("trained") else "the model in production; nothing was trained"
    error = mapping(record.get("error"))
    if error:
        step = text(error.get("step"))
        return f"The run failed{f' in step {step}' if step else ''}, so nothing was decided or promoted."
    if word == "PASS" and record.get("promoted"):
        return f"{pair} is in production with {model}."
    if word == "PASS":
        return f"{pair} passes the gate with {model}; it was not promoted."
    if word == "FAIL":
        return f"{pair} does not pass the gate with {model}. Production is unchanged."
    if word == "INCONCLUSIVE":
        return f"The evidence does not decide about {pair} with {model}. Production is unchanged."
    return "The run has not come to a verdict."


def _reasons(verdict: Mapping[str, Any]) -> tuple[ReasonLine, ...]:
    lines = [
        ReasonLine(
            outcome=reason["outcome"] if reason.get("outcome") in OUTCOMES else "noted",
            code=text(reason.get("code")),
            metric=_in_words(text(reason.get("metric"))),
            message=_without_subject(text(reason.get("message")), text(reason.get("metric"))),
            is_slice="[" in text(reason.get("metric")),
        )
        for reason in mappings(verdict.get("reasons"))
    ]
    return tuple(sorted(lines, key=lambda line: OUTCOMES.index(line.outcome)))


def _in_words(metric: str) -> str:
    """``live_stream_qa.accuracy[intent=price]`` as ``Live-Stream QA: accuracy, intent price``."""
    parts = _METRIC.fullmatch(metric)
    if parts is None:
        return metric
    suite, name, key, value, other = parts.groups()
    if suite == "latency":
        return f"Latency {name.upper() if name.startswith('p') else name.replace('_', ' ')}"
    words = [name.replace("_", " "), f"{key} {value}" if key else "", f"vs {other}" if other else ""]
    return f"{title_of(suite)}: {', '.join(word for word in words if word)}"


def _without_subject(message: str, metric: str) -> str:
    """The message without the metric's name at its start, which stands beside it already."""
    for subject in (metric, metric.replace(".p", " P", 1)):
        if message.startswith(subject):
            return message.removeprefix(subject).lstrip(": ").removeprefix("is ")
    return message


def _facts(found: RunDocuments) -> Iterator[Fact]:
    record = found.record
    for name, key in (("Profile", "profile"), ("Mode", "mode"), ("Status", "status")):
        if record.get(key):
            yield Fact(name, text(record[key]))
    if record.get("started"):
        yield Fact("Started", text(record["started"]).replace("T", " ").replace("+00:00", " UTC"))
    elapsed = _elapsed(record)
    if elapsed is not None:
        yield Fact("Took", duration(elapsed), "wall time from the first attempt's start to the end")
    if (number(record.get("attempts")) or 1) > 1:
        yield Fact("Attempts", text(record["attempts"]), "1, plus one for each --resume")
    yield Fact("Trained", "yes" if record.get("trained") else "no")
    yield Fact("Promoted", "yes" if record.get("promoted") else "no")
    if found.verdict.get("environment") or found.subject.get("environment"):
        yield Fact("Environment", text(found.verdict.get("environment") or found.subject.get("environment")))
    if found.subject:
        yield Fact("In production before", text(found.subject.get("production_version") or "nothing"))
    for key, value in mapping(record.get("overrides")).items():
        yield Fact(f"--set {key}", text(value))


def _elapsed(record: Mapping[str, Any]) -> float | None:
    try:
        begun = datetime.fromisoformat(text(record.get("started")))
        return (datetime.fromisoformat(text(record.get("finished"))) - begun).total_seconds()
    except (ValueError, TypeError):
        return None


def _steps(record: Mapping[str, Any]) -> Iterator[Step]:
    for step in mappings(record.get("steps")):
        seconds = number(step.get("seconds")) or 0.0
        yield Step(text(step.get("name")), text(step.get("status")), seconds, text(step.get("reason")))


def _digests(found: RunDocuments) -> Iterator[Fact]:
    record, subject = found.record, found.subject
    harness = record.get("harness_digest") or subject.get("harness_digest")
    yield from _present("Harness", harness, "of its files")
    yield from _present("Code", record.get("code_version"), "of package sources and constraints")
    models = mapping(record.get("models"))
    for role in ROLES:
        reference = mapping(subject.get(role))
        notes = "; ".join(text(reference[key]) for key in ("base", "notes") if reference.get(key))
        yield from _present(f"Model: {role}", models.get(role) or reference.get("digest"), notes)
    yield from _present("Gate policy", found.verdict.get("policy_digest"), "with its environment")
    yield from _present("Evidence", found.verdict.get("evidence_digest"), "of the documents that were judged")
    yield from _present("Trajectories", found.generation.get("trajectories_digest"), "of the accepted ones")
    for role in ROLES:
        document = mapping(found.evaluations.get(role))
        yield from _present(f"Items: {role}", document.get("items_digest"), "of what the model was asked")
    for step, key in found.step_keys.items():
        yield from _present(f"Step: {step}", key, "key of its inputs, settings and code")


def _present(name: str, digest: Any, title: str) -> Iterator[Fact]:
    if digest:
        yield Fact(name, text(digest), title)


def _synthetic(found: RunDocuments) -> Iterator[str]:
    domain = text(found.config.get("domain"))
    room = f"The domain {domain}" if domain else "The domain"
    yield (
        f"{room} is simulated: catalogue, sessions, tool results and generated questions are synthetic. "
        "No real viewer, product or order is in it."
    )
    yield "Questions whose id begins with “hand-” were written by hand, about the simulated room."
    policy = text(found.generation.get("policy"))
    if policy:
        yield f"Training trajectories were made by {policy}."
    suites = mapping(
        mapping(found.evaluations.get("candidate") or found.evaluations.get("base")).get("suites")
    )
    if "instruction_following" in suites:
        yield "Instruction following uses this project's own prompts and checkers. It is not IFEval."
    base = mapping(found.subject.get("base"))
    if base.get("notes"):
        yield f"Base model: {text(base.get('base'))}. {text(base['notes'])}"


def _absent(found: RunDocuments) -> Iterator[str]:
    parts = (
        ("record", found.record),
        ("verdict", found.verdict),
        ("evaluation", found.evaluations),
        ("latency measurement", found.latency),
    )
    for name, value in parts:
        if not value:
            yield f"There is no {name} of this run."


def duration(seconds: float) -> str:
    """Seconds in words: ``0.4 s``, ``12 s``, ``3 min 05 s``, ``2 h 03 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
