"""What is read off the rows of a measurement: each item's score, what it shares with others, and its weight."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Score:
    """One item's, or one pair's, score under one seed."""

    value: float
    keys: tuple[Hashable, ...]
    """Task and augmented harness state: what makes items go together."""
    weight: float = 1.0


Scores = Mapping[str, Score]
"""By what is the same for every model: the item's id, or the pair's."""


@dataclass(frozen=True)
class Metric:
    """One column of the table."""

    name: str
    title: str
    measurement: str
    read: Callable[[Rows], Scores]


def right(rows: Rows) -> Scores:
    """1 where an item is right; items that were not judged are left out."""
    return {
        f"{row['suite']}/{row['id']}": Score(float(row["correct"]), _keys(row))
        for row in rows
        if row["correct"] is not None
    }


def both_right(rows: Rows) -> Scores:
    """1 where both members of a pair of twins are right."""
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("pair"):
            pairs.setdefault(row["pair"], []).append(row)
    return {
        pair: Score(
            float(all(member["correct"] for member in members)),
            tuple(dict.fromkeys(key for member in members for key in _keys(member))),
        )
        for pair, members in pairs.items()
        if len(members) == 2 and all(member["correct"] is not None for member in members)
    }


def blind_right(rows: Rows) -> Scores:
    """What the policy that ignores the harness scores on single members of the same pairs."""
    return {
        row["id"]: Score(float(row["blind_correct"]), _keys(row))
        for row in rows
        if row.get("pair") and row["blind_correct"] is not None
    }


def by_version(rows: Rows) -> Scores:
    """Right items, every harness version (an item's kind) weighing the same."""
    return _macro(rows, lambda row: str(row["kind"]))


def by_component(rows: Rows) -> Scores:
    """Right items and pairs, every component of Tool/Prompt Robustness weighing the same."""
    alone = [row for row in rows if not row.get("pair")]
    return _macro(alone, lambda row: component(str(row["kind"])), both_right(rows))


def component(kind: str) -> str:
    """The component that a kind of items belongs to: noise in names and in descriptions are one."""
    if kind.startswith("twin_"):
        return "twins"
    return "noise" if kind.endswith("_noise") else kind


def _macro(rows: Rows, group: Callable[[Mapping[str, Any]], str], pairs: Scores | None = None) -> Scores:
    scores = {**right(rows), **(pairs or {})}
    groups = {f"{row['suite']}/{row['id']}": group(row) for row in rows}
    sizes = Counter(groups.get(name, "twins") for name in scores)
    return {
        name: Score(score.value, score.keys, 1 / sizes[groups.get(name, "twins")])
        for name, score in scores.items()
    }


def _keys(row: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """Its task; its state where that is augmented, since the original one is everybody's; its pair.

    A question asked under several versions has another gold, and so another digest, under each; its id is the same.
    """
    keys: list[Hashable] = [("task", row["task_digest"]), ("question", _question(str(row["id"])))]
    if row["families"]:
        keys.append(("state", row["state_digest"]))
    if row.get("pair"):
        keys.append(("pair", row["pair"]))
    return tuple(keys)


def _question(item: str) -> str:
    """The part of an item's id that names its task (`hat.evaluation.items.SuiteItem.id`); of general prompts, all."""
    return item.rpartition("/")[0] or item


LIVE_STREAM = "live_stream_qa"
VARIANTS = ("combined", "harness_variant_qa")
"""Which metric is called T2: the first that is measured."""
TWINS, EVOLUTION, ROBUSTNESS, GENERAL = "twins", "evolution", "tool_prompt_robustness_full", "general"
UNSEEN = "test_only_families"
DIVERGENCE = "divergence"
"""A measurement without a score: its rows are divergences from the base."""

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(LIVE_STREAM, "T1 Live-Stream QA", LIVE_STREAM, right),
        Metric("combined", "T2 names and layout", "combined", right),
        Metric("harness_variant_qa", "T2 Harness-Variant QA", "harness_variant_qa", right),
        Metric("names_only", "T2 names only", "names_only", right),
        Metric("layout_only", "T2 layout only", "layout_only", right),
        Metric("test_only_compositions", "T2 unseen compositions", "test_only_compositions", right),
        Metric(UNSEEN, "T2 unseen families", UNSEEN, right),
        Metric(ROBUSTNESS, "T3 Robustness, macro", ROBUSTNESS, by_component),
        Metric(TWINS, "Twins, both right", TWINS, both_right),
        Metric("twins_single", "Twins, single members", TWINS, right),
        Metric("twins_blind", "Twins, blind policy's single members", TWINS, blind_right),
        Metric(EVOLUTION, "Real evolution, mean", EVOLUTION, by_version),
        Metric(GENERAL, "Instruction following", GENERAL, right),
    )
}
