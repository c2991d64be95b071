"""Sums up the item documents of a full suite; pure functions, so that a table can be made again from kept items."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hat.evaluation.full_suites.robustness import COMPONENTS
from hat.evaluation.statistics import wilson_interval
from hat.evaluation.sub_suites import sub_suites

Items = Sequence[Mapping[str, Any]]
_RESAMPLES = 2000


def behaviour_summary(items: Items) -> dict[str, Any]:
    """Worst state, adherence by turn (the first is 1), and tokens per tool call and per accepted reply."""
    return {
        "worst_state": worst_state(items),
        "adherence_by_turn": adherence_by_turn(items),
        "tokens_per_tool_call": _ratio(
            [item for item in items if item["call_tokens"] is not None], "call_tokens", "tool_calls"
        ),
        "tokens_per_reply": _ratio(
            [item for item in items if item["reply_tokens"] is not None], "reply_tokens"
        ),
    }


def worst_state(items: Items) -> dict[str, Any] | None:
    """The state with the lowest accuracy: its digest, families, n and accuracy, and how many states have that.

    The lowest of many small samples is low even where all states are alike: it is to be read beside ``n``.
    """
    by_state: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        if item["correct"] is not None:
            by_state.setdefault(item["state"]["digest"], []).append(item)
    if not by_state:
        return None
    rates = {digest: _rate(of_state) for digest, of_state in by_state.items()}
    digest = min(rates, key=lambda one: (rates[one], one))
    return {
        "digest": digest,
        "families": list(by_state[digest][0]["state"]["families"]),
        "n": len(by_state[digest]),
        "accuracy": rates[digest],
        "states_as_low": sum(rate == rates[digest] for rate in rates.values()),
    }


def adherence_by_turn(items: Items) -> list[dict[str, Any]]:
    """Per turn: how many episodes had it, and the share in which it kept to the harness."""
    longest = max((len(item["adhered"]) for item in items), default=0)
    turns = []
    for turn in range(longest):
        kept = [item["adhered"][turn] for item in items if len(item["adhered"]) > turn]
        turns.append({"turn": turn + 1, "n": len(kept), "rate": sum(kept) / len(kept)})
    return turns


def verdict_flips(reference: Items, items: Items) -> dict[str, Any]:
    """Questions that are right under one harness state and wrong under another, of those asked under both.

    ``rate`` is their share with its 95% Wilson interval; ``lost`` were right in the reference, ``gained`` wrong.
    Questions are paired by task id: a rule that changed between versions changes the gold, not the question.
    """
    verdicts = {_task(item): item["correct"] for item in reference}
    pairs = [
        (verdicts[_task(item)], item["correct"])
        for item in items
        if verdicts.get(_task(item)) is not None and item["correct"] is not None
    ]
    lost = sum(before > after for before, after in pairs)
    gained = sum(after > before for before, after in pairs)
    interval = wilson_interval(lost + gained, len(pairs)) if pairs else None
    return {
        "n": len(pairs),
        "rate": (lost + gained) / len(pairs) if pairs else None,
        "rate_ci": [interval.low, interval.high] if interval else None,
        "lost": lost,
        "gained": gained,
    }


def macro_summary(items: Items, *, confidence: float = 0.95, seed: int = 0) -> dict[str, Any]:
    """Tool/Prompt Robustness: each component's score and the plain mean of them, with its interval.

    The interval is a percentile bootstrap that draws whole clusters within each component: pairs of twins, states of
    noise and distractors, tasks of the rest. None where a component has no judged item.

    Returns:
        ``{macro_accuracy, macro_accuracy_ci, components: {name: {n, accuracy}}, twins}``; n counts pairs of twins, and
        ``twins`` is the summary of all pairs as of `hat.evaluation.sub_suites.sub_suites`, with the harness-blind
        policy's scores.
    """
    units = {
        name: _units([item for item in items if item["kind"] in kinds]) for name, kinds in COMPONENTS.items()
    }
    components = {
        name: {"n": sum(map(len, clusters)), "accuracy": _mean_of(clusters)}
        for name, clusters in units.items()
    }
    twins = sub_suites([{**item, "kind": "twins"} for item in items if item.get("pair")])
    if not all(units.values()):
        return {"macro_accuracy": None, "macro_accuracy_ci": None, "components": components, **twins}
    draw = random.Random(seed)
    means = sorted(
        sum(_mean_of(draw.choices(clusters, k=len(clusters))) or 0.0 for clusters in units.values())
        / len(units)
        for _ in range(_RESAMPLES)
    )
    tail = int((1 - confidence) / 2 * _RESAMPLES)
    return {
        "macro_accuracy": sum(component["accuracy"] or 0.0 for component in components.values())
        / len(components),
        "macro_accuracy_ci": [means[tail], means[-1 - tail]],
        "components": components,
        **twins,
    }


def _units(items: Items) -> list[list[int]]:
    """The scores that count, by cluster, in an order that is the items' own."""
    pairs: dict[str, list[Any]] = {}
    clusters: dict[str, list[int]] = {}
    for item in items:
        if item.get("pair"):
            pairs.setdefault(item["pair"], []).append(item["correct"])
        elif item["correct"] is not None:
            alone = item["kind"] in ("unsolvable", "faults")
            cluster = item["task_digest"] if alone else item["state"]["digest"]
            clusters.setdefault(cluster, []).append(item["correct"])
    both = [[int(all(scores))] for scores in pairs.values() if len(scores) == 2 and None not in scores]
    return [*clusters.values(), *both]


def _mean_of(clusters: Sequence[Sequence[int]]) -> float | None:
    scores = [score for cluster in clusters for score in cluster]
    return sum(scores) / len(scores) if scores else None


def _task(item: Mapping[str, Any]) -> str:
    return str(item["id"]).rpartition("/")[0]


def _rate(items: Items) -> float:
    return sum(item["correct"] for item in items) / len(items)


def _ratio(items: Items, total: str, count: str | None = None) -> float | None:
    """The sum of one key over the sum of another, or over the number of items."""
    of = sum(item[count] for item in items) if count else len(items)
    return sum(item[total] for item in items) / of if of else None
