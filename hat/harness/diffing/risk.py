"""How much a change may matter: a class for each, why, and what it means for training."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hat.augment.config import FAMILIES
from hat.harness.diffing.change import RISKS, Change, Risk
from hat.harness.diffing.compatibility import Narrowing
from hat.harness.symbols import code_spans

_LITERAL = re.compile(r"\d+(?:\.\d+)?|\{\{.*?\}\}|\{\w+\}")
_NEGATION = re.compile(
    r"(?i)\b(?:no|not|never|none|nothing|without|unless|except|only|cannot|neither|nor|\w+n't)\b|[不没勿未无禁]"
)
_STRENGTH = re.compile(
    r"(?i)\b(?:must|always|may|might|should|shall|can|every|all|any|before|after|first|last|at least|at most)\b"
)

COVERING: Mapping[tuple[str, str], str] = {
    ("tool", "renamed"): "T1",
    ("argument", "renamed"): "T2",
    ("tool", "reworded"): "T3",
    ("argument", "reworded"): "T3",
    ("tool", "reordered"): "T4",
    ("argument", "reordered"): "T4",
    ("argument", "changed"): "T5",
    ("argument", "added"): "T6",
    ("tool", "added"): "T7",
    ("tool", "removed"): "T7",
    ("skill", "renamed"): "S1",
    ("skill", "reworded"): "S2",
    ("skill", "added"): "S3",
    ("skill", "reordered"): "S4",
    ("skill", "removed"): "S4",
    ("rule", "reordered"): "S5",
    ("rule", "reworded"): "S6",
    ("rule", "moved"): "S8",
    ("block", "reordered"): "P1",
    ("block", "moved"): "P2",
    ("layout", "changed"): "P3",
    ("limit", "changed"): "P4",
    ("hook", "reworded"): "K1",
    ("hook", "reordered"): "K3",
    ("hook", "moved"): "K4",
}
"""The family of augmentation whose states vary what such a change changes."""

_PRESERVING = {
    ("tool", "renamed"), ("argument", "renamed"), ("skill", "renamed"), ("tool", "reworded"), ("argument", "reworded"),
    ("skill", "reworded"), ("tool", "reordered"), ("argument", "reordered"), ("skill", "reordered"),
    ("block", "reordered"), ("rule", "reordered"), ("rule", "moved"), ("hook", "reworded"), ("layout", "changed"),
}  # fmt: skip


def assessed(changes: Sequence[Change], narrowings: Mapping[str, Sequence[Narrowing]]) -> tuple[Change, ...]:
    """The changes with risk, reason and meaning; ``narrowings`` are by the later tool's name.

    A narrowing that no change accounts for, such as a required argument that is nowhere declared, becomes one.
    """
    accounted = {place for change in changes for place in _narrowed_by(change, narrowings)}
    unseen = {
        tool: left
        for tool, entries in narrowings.items()
        if (left := [entry for entry in entries if (tool, entry) not in accounted])
    }
    others = [
        Change("tool", "changed", f"{tool}, inputSchema", after="; ".join(map(_said, left)))
        for tool, left in unseen.items()
    ]
    told = [(change, narrowings) for change in changes] + [(change, unseen) for change in others]
    result = []
    for change, narrowed in told:
        refused = _refused(change, narrowed)
        risk, why = _classed(change, refused)
        training = _training(change, risk)
        result.append(replace(change, risk=risk, why=why, training=training, refused=refused))
    return tuple(result)


def highest(changes: Sequence[Change]) -> Risk | None:
    """The gravest class among the changes; None without any."""
    return max((change.risk for change in changes), key=RISKS.index, default=None)


def _classed(change: Change, refused: tuple[str, ...]) -> tuple[Risk, str]:
    key = (change.part, change.kind)
    if change.note.startswith("models do not see") or change.subject.endswith(
        (", annotations", ", outputSchema")
    ):
        return "cosmetic", "models do not see it"
    if refused:
        return "behaviour-changing", "calls that were valid are refused now"
    if key == ("argument", "added") or (change.part in ("argument", "tool") and change.kind == "changed"):
        return "preserving", "every call that was valid still is"
    if key == ("rule", "reworded"):
        return _reworded_rule(change.before, change.after)
    if key in _PRESERVING:
        return "preserving", "the same tasks have the same solutions"
    return "behaviour-changing", "what is right may be another thing now"


def _reworded_rule(before: str, after: str) -> tuple[Risk, str]:
    """A machine cannot tell whether two sentences mean the same; it can tell when what decides a case differs."""
    for what, pick in (
        ("numbers or values", lambda text: Counter(_LITERAL.findall(text))),
        ("references", lambda text: Counter(span for _, span in code_spans(text))),
        ("a negation", lambda text: bool(_NEGATION.search(text))),
        ("what must or may happen, and when", lambda text: Counter(map(str.lower, _STRENGTH.findall(text)))),
    ):
        if pick(before) != pick(after):
            return "behaviour-changing", f"{what} differ"
    return "preserving", "the same numbers, references and negations: read whether it means the same"


def _training(change: Change, risk: Risk) -> str:
    if risk == "cosmetic":
        return "nothing to train"
    family = COVERING.get((change.part, change.kind))
    if risk == "behaviour-changing":
        return (
            "screening decides: where the model in production fails, a new one is trained under this version"
        )
    if family in FAMILIES:
        return (
            f"family {family} varies this in training; screening shows whether the model in production copes"
        )
    if family is not None:
        return f"no family trained here varies this ({family} would): screening decides"
    return "screening decides"


def _refused(change: Change, narrowings: Mapping[str, Sequence[Narrowing]]) -> tuple[str, ...]:
    """What is refused now because of this change."""
    found = [entry for _, entry in _narrowed_by(change, narrowings)]
    return tuple(_said(entry) if change.part == "tool" else entry.text for entry in found)


def _narrowed_by(
    change: Change, narrowings: Mapping[str, Sequence[Narrowing]]
) -> list[tuple[str, Narrowing]]:
    """The tool and what of its narrowings this change accounts for."""
    if change.part == "tool" and change.subject.endswith(", inputSchema"):
        tool = change.subject.removesuffix(", inputSchema")
        return [(tool, entry) for entry in narrowings.get(tool, ())]
    if change.part == "argument" and change.kind in ("changed", "added", "removed"):
        tool, _, argument = change.subject.removesuffix(", schema").partition(".")
        return [(tool, entry) for entry in narrowings.get(tool, ()) if entry.argument == argument]
    return []


def _said(entry: Narrowing) -> str:
    return f"{entry.argument}: {entry.text}" if entry.argument else entry.text
