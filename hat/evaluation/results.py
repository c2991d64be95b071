"""What an evaluation writes down of each episode, and what it sums up of a suite."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hat.agent.calls import render_call
from hat.augment.twins.verify import is_exact
from hat.domains.base import Scores
from hat.errors import BadInput
from hat.evaluation.statistics import wilson_interval
from hat.evaluation.sub_suites import sub_suites
from hat.evaluation.suites import SuiteItem
from hat.trajectories.record import Trajectory


def item_result(
    item: SuiteItem,
    trajectory: Trajectory,
    scores: Scores,
    baseline_correct: int,
    blind: Scores | None = None,
) -> dict[str, Any]:
    """One item's document; ``correct`` is null, not judged, where the engine gave no answer.

    Args:
        blind: what the harness-blind policy scored, of a member of a twin pair.
    """
    judged = trajectory.end != "engine_error"
    state = item.state
    of_twin: dict[str, Any] = {}
    if blind is not None:
        of_twin = {
            "pair": item.pair,
            "exact": int(is_exact(scores)) if judged else None,
            "blind_correct": blind.accuracy,
            "blind_exact": int(is_exact(blind)),
        }
    return {
        "id": item.id,
        "task_digest": item.task.digest,
        "state": {
            "digest": state.digest,
            "seed": state.seed,
            "split": state.split,
            "families": list(state.families),
            "layout": state.canonical.layout,
        },
        "kind": item.kind,
        "intent": item.task.intent,
        "skill": _skill(item),
        "language": item.task.language,
        "source": item.task.source,
        "answerable": item.task.answerable,
        "correct": scores.accuracy if judged else None,
        "effectiveness": scores.effectiveness,
        "tool_rationality": scores.tool_rationality,
        "skill_selection": scores.skill_selection,
        "skill_loaded": scores.skill_loaded,
        "refused": scores.refused,
        "parsed": scores.parsed,
        "baseline_correct": baseline_correct,
        **of_twin,
        "question": item.task.question,
        "calls": _presented_calls(trajectory, item),
        "facts": [list(asdict(fact).values()) for fact in item.task.facts],
        "reply": trajectory.reply or _last_words(trajectory),
        "end": trajectory.end,
        "turns": len(trajectory.turns),
    }


def suite_result(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The suite's rates (fractions, None where nothing counts), its 95% Wilson interval and the items."""
    judged = [item for item in items if item["correct"] is not None]
    right = sum(item["correct"] for item in judged)
    interval = wilson_interval(right, len(judged)) if judged else None
    return {
        "n": len(items),
        "accuracy": right / len(judged) if judged else None,
        "accuracy_ci": [interval.low, interval.high] if interval else None,
        "effectiveness": _mean(judged, "effectiveness"),
        "tool_rationality": _mean(judged, "tool_rationality"),
        "skill_selection": _mean(judged, "skill_selection"),
        "skill_load_rate": _mean(judged, "skill_loaded"),
        "parse_rate": _mean(judged, "parsed"),
        "refusal_rate": _mean([item for item in judged if not item["answerable"]], "refused"),
        "over_refusal_rate": _mean([item for item in judged if item["answerable"]], "refused"),
        "baseline_accuracy": _mean(items, "baseline_correct"),
        "states": len({item["state"]["digest"] for item in items}),
        **({"sub_suites": found} if (found := sub_suites(items)) else {}),
        "items": list(items),
    }


def _skill(item: SuiteItem) -> str | None:
    """Canonical name of the right reply skill; None where the harness has none for it."""
    try:
        return item.state.canonical.skill_for(item.task.intent)
    except BadInput:
        return None


def _mean(items: Sequence[Mapping[str, Any]], key: str) -> float | None:
    return sum(float(item[key]) for item in items) / len(items) if items else None


def _presented_calls(trajectory: Trajectory, item: SuiteItem) -> list[str]:
    """The calls as the model wrote them; a turn that could not be read stands as it is."""
    calls: list[str] = []
    for turn in trajectory.turns:
        calls.extend([turn.raw] if turn.raw is not None else [])
        calls.extend(render_call(item.state.encode(call)) for call in turn.calls)
    return calls


def _last_words(trajectory: Trajectory) -> str:
    """The last reply that was blocked, for whoever looks at failures."""
    blocked = [turn.content for turn in trajectory.turns if turn.verdict is not None and turn.content]
    return blocked[-1] if blocked else ""
