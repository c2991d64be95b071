"""From evaluation documents to the suites, slices and failures that a report shows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hat.evaluation.statistics import wilson_interval
from hat.reporting.model import ROLES, Failure, Role, Score, Slice, Suite
from hat.reporting.values import items, mapping, mappings, number, text

Evaluations = Mapping[Role, Mapping[str, Any]]

SUITES: Mapping[str, tuple[str, str]] = {
    "live_stream_qa": ("Live-Stream QA", "viewers' questions under this harness"),
    "harness_variant_qa": ("Harness-Variant QA", "the same under varied names and layouts of the harness"),
    "tool_prompt_robustness": ("Tool/Prompt Robustness", "distractor tools, unsolvable questions, faults"),
    "instruction_following": ("Instruction following", "general prompts, strict; our own suite, not IFEval"),
    "ifeval": ("IFEval", "general prompts, strict, at prompt level"),
}
"""Suite -> title and what it asks; others are shown after these, under their own names."""

METRICS: Mapping[str, str] = {
    "effectiveness": "Effectiveness",
    "tool_rationality": "Tool rationality",
    "skill_selection": "Skill selection",
    "skill_load_rate": "Skill loaded",
    "parse_rate": "Parsed",
    "refusal_rate": "Declined rightly",
    "over_refusal_rate": "Declined wrongly",
    "instruction_accuracy": "Instruction level",
}
SLICES: Mapping[str, tuple[str, ...]] = {
    "live_stream_qa": ("intent", "language"),
    "harness_variant_qa": ("intent", "family"),
    "tool_prompt_robustness": ("kind",),
}
FAILURES_PER_SUITE = 4


def read_suites(evaluations: Evaluations, verdict: Mapping[str, Any]) -> tuple[Suite, ...]:
    """Every suite that any model was tried on."""
    measured = (name for document in evaluations.values() for name in mapping(document.get("suites")))
    names = dict.fromkeys((*SUITES, *measured))
    suites = (_suite(name, evaluations, _bars(verdict)) for name in names)
    return tuple(suite for suite in suites if suite.scores)


def read_slices(evaluations: Evaluations) -> tuple[Slice, ...]:
    """Accuracy on parts of the suites, where a suite has more than one such part."""
    slices: list[Slice] = []
    for suite, keys in SLICES.items():
        asked = {role: _items(evaluations, role, suite) for role in ROLES}
        for key in keys:
            everything = (item for role in ROLES for item in asked[role])
            values = sorted({value for item in everything for value in _values(item, key)})
            if len(values) > 1:
                slices += [_slice(suite, key, value, asked) for value in values]
    return tuple(slices)


def read_failures(evaluations: Evaluations) -> tuple[tuple[Failure, ...], dict[str, int]]:
    """Failures of the model that the run is about, spread over intents; and their number in each suite."""
    role = next((role for role in ("candidate", "production", "base") if role in evaluations), "candidate")
    shown: list[Failure] = []
    totals: dict[str, int] = {}
    for suite in SUITES:
        wrong = [item for item in _items(evaluations, role, suite) if number(item.get("correct")) == 0]
        if wrong:
            totals[suite] = len(wrong)
            shown += [_failure(suite, role, item) for item in _spread(wrong, FAILURES_PER_SUITE)]
    return tuple(shown), totals


def title_of(suite: str) -> str:
    """A suite's title."""
    return SUITES[suite][0] if suite in SUITES else suite


def _suite(name: str, evaluations: Evaluations, bars: Mapping[str, float]) -> Suite:
    title, explanation = SUITES.get(name, (name, ""))
    documents = {role: _document(evaluations, role, name) for role in ROLES}
    scores = {role: score for role in ROLES if (score := _score(documents[role])) is not None}
    first = next((documents[role] for role in ("candidate", *ROLES) if documents[role]), {})
    return Suite(
        name=name,
        title=title,
        explanation=explanation,
        scores=scores,
        reference=number(first.get("baseline_accuracy")),
        reference_name=f"best floor: {first['baseline']}" if first.get("baseline") else "regex baseline",
        bar=bars.get(f"{name}.accuracy"),
        origin=_origin(name, first),
        notes=tuple(_notes(first)),
    )


def _origin(name: str, document: Mapping[str, Any]) -> str:
    if name == "ifeval":
        return ""
    return "hand-written, own" if document.get("checkers") == "own" else "simulated"


def _score(document: Mapping[str, Any]) -> Score | None:
    n, accuracy = number(document.get("n")), number(document.get("accuracy"))
    if n is None or n < 1 or accuracy is None or not 0 <= accuracy <= 1:
        return None
    low, high = [*map(number, items(document.get("accuracy_ci"))), None, None][:2]
    if low is None or high is None or not 0 <= low <= accuracy <= high <= 1:
        computed = wilson_interval(accuracy * int(n), int(n))
        low, high = computed.low, computed.high
    metrics = {name: value for name in METRICS if (value := number(document.get(name))) is not None}
    return Score(int(n), accuracy, low, high, metrics)


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    for kind, summary in mapping(document.get("sub_suites")).items():
        result = mapping(summary)
        pairs, both, blind = (number(result.get(k)) for k in ("pairs", "pair_exact", "blind_pair_exact"))
        if pairs is not None and both is not None and blind is not None:
            solved = f"{text(kind)}: {both:.0%} of {pairs:.0f} pairs solved exactly"
            yield f"{solved}, {blind:.0%} by a policy that ignores the harness."
    for excluded in mappings(document.get("excluded")):
        checkers = ", ".join(map(str, items(excluded.get("checkers"))))
        needed = f" (needed by {checkers})" if checkers else ""
        yield f"{len(items(excluded.get('keys')))} prompts left out: {text(excluded.get('reason'))}{needed}"
    if document.get("token_cap"):
        yield f"Replies are capped at {document['token_cap']} tokens."
    if document.get("checkers") not in (None, "own"):
        yield f"Checkers: {document['checkers']}."


def _bars(verdict: Mapping[str, Any]) -> dict[str, float]:
    bars = {}
    for reason in mappings(verdict.get("reasons")):
        bar = number(mapping(reason.get("numbers")).get("bar"))
        if bar is not None:
            bars[text(reason.get("metric"))] = bar / 100
    return bars


def _slice(suite: str, key: str, value: str, asked: Mapping[Role, Sequence[Mapping[str, Any]]]) -> Slice:
    counts = {}
    for role, everything in asked.items():
        part = [item for item in everything if value in _values(item, key)]
        right = sum(number(item.get("correct")) == 1 for item in part)
        if part:
            counts[role] = (right, len(part))
    return Slice(suite, key, value, counts)


def _values(item: Mapping[str, Any], key: str) -> tuple[str, ...]:
    if key == "family":
        families = mapping(item.get("state")).get("families") or item.get("families")
        return tuple(map(str, items(families)))
    return (text(item[key]),) if item.get(key) else ()


def _failure(suite: str, role: Role, item: Mapping[str, Any]) -> Failure:
    followed = mapping(item.get("followed"))
    unfollowed = [f"not followed: {name.partition(':')[2]}" for name, ok in followed.items() if not ok]
    return Failure(
        suite=suite,
        id=text(item.get("id")),
        model=role,
        intent=text(item.get("intent")),
        question=text(item.get("question") or item.get("prompt")),
        calls=tuple(map(text, items(item.get("calls")))),
        reply=text(item.get("reply")),
        end=text(item.get("end")),
        expected=tuple(unfollowed or map(_fact, items(item.get("facts")))),
    )


def _fact(fact: Any) -> str:
    """A gold fact in words; facts are [kind, value, subject] or {kind, value, subject}."""
    parts = list(fact.values()) if isinstance(fact, Mapping) else items(fact) or [fact]
    kind, value, subject = [*map(text, parts), "", "", ""][:3]
    return f"{kind} {value}" + (f" of {subject}" if subject else "")


def _spread(wrong: Sequence[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """Up to ``count`` items, one of each intent before a second of any."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for item in wrong:
        groups.setdefault(text(item.get("intent")), []).append(item)
    chosen: list[Mapping[str, Any]] = []
    depth = 0
    while len(chosen) < min(count, len(wrong)):
        chosen += [group[depth] for group in groups.values() if depth < len(group)]
        depth += 1
    return chosen[:count]


def _items(evaluations: Evaluations, role: Role, suite: str) -> list[Mapping[str, Any]]:
    return mappings(_document(evaluations, role, suite).get("items"))


def _document(evaluations: Evaluations, role: Role, suite: str) -> Mapping[str, Any]:
    return mapping(mapping(mapping(evaluations.get(role)).get("suites")).get(suite))
