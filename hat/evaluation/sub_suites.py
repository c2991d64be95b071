"""Sums up the sub-suites of a suite by kind of item; of twins also how many pairs are right as a whole.

Beside each twin result stand the scores of the harness-blind policy on the same pairs: a pair counts for reading the
harness only as far as that policy fails it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hat.evaluation.statistics import wilson_interval


def sub_suites(items: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Kind -> its summary, kinds in the order of their first items; empty where items have no kind."""
    kinds = list(dict.fromkeys(item["kind"] for item in items if item["kind"]))
    return {kind: _summary([item for item in items if item["kind"] == kind]) for kind in kinds}


def _summary(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """n, accuracy, its 95% Wilson interval and the baseline's accuracy; of twins the same of whole pairs."""
    summary = {
        "n": len(items),
        **_share("accuracy", [item["correct"] for item in items]),
        "baseline_accuracy": sum(item["baseline_correct"] for item in items) / len(items),
    }
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        if item.get("pair"):
            pairs.setdefault(item["pair"], []).append(item)
    if not pairs:
        return summary
    return {
        **summary,
        "pairs": len(pairs),
        **_share("pair_accuracy", _both(pairs, "correct")),
        **_share("pair_exact", _both(pairs, "exact")),
        "blind_accuracy": sum(item["blind_correct"] for item in items) / len(items),
        **_share("blind_pair_accuracy", _both(pairs, "blind_correct")),
        **_share("blind_pair_exact", _both(pairs, "blind_exact")),
    }


def _both(pairs: Mapping[str, Sequence[Mapping[str, Any]]], key: str) -> list[int | None]:
    """Per pair: 1 when both members are right, None when one was not judged."""
    scores: list[int | None] = []
    for members in pairs.values():
        of_pair = [member[key] for member in members]
        judged = len(of_pair) == 2 and None not in of_pair
        scores.append(int(all(of_pair)) if judged else None)
    return scores


def _share(name: str, scores: Sequence[int | None]) -> dict[str, Any]:
    """The share of 1 among what was judged, and its interval."""
    judged = [score for score in scores if score is not None]
    if not judged:
        return {name: None, f"{name}_ci": None}
    interval = wilson_interval(sum(judged), len(judged))
    return {name: sum(judged) / len(judged), f"{name}_ci": [interval.low, interval.high]}
