"""Rejection sampling: which episodes are fit to learn from, and why the others are not."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hat.domains.base import Domain
from hat.files import canonical_json
from hat.harness.model import Harness
from hat.trajectories.record import Trajectory, Turn

_REFUSED_KINDS = ("blocked", "unknown_name")


@dataclass(frozen=True)
class Selection:
    """What came out."""

    accepted: tuple[Trajectory, ...]
    """With their scores, in the order given."""
    rejected: dict[str, int]
    """Reason -> how many."""
    collapsed: int
    """Accepted ones from which corrected mistakes were dropped."""
    kept_whole: int
    """Accepted ones that show a mistake and its correction."""


def select(
    trajectories: Iterable[Trajectory],
    domain: Domain,
    harness: Harness,
    *,
    whole_retry_share: float,
    seed: int,
) -> Selection:
    """Keep what the domain's scorers find right in every respect; see `rejection_reason`.

    An episode in which a hook blocked a turn and the next one did better teaches the mistake unless the turn
    is dropped, so most are collapsed to the behaviour that was right. Mistakes that could not even be read as
    calls are always dropped: nothing may be taught that the strict parser refuses.
    """
    accepted: list[Trajectory] = []
    rejected: Counter[str] = Counter()
    collapsed = kept_whole = 0
    seen: set[str] = set()
    for trajectory in trajectories:
        retried = any(was_blocked(turn) for turn in trajectory.turns)
        draw = random.Random(f"{seed}/{trajectory.id}").random()
        whole = retried and draw < whole_retry_share and not _has_unteachable_turn(trajectory)
        candidate = trajectory if whole else without_blocked_turns(trajectory)
        candidate = candidate.with_scores(domain.score(candidate.task, candidate, harness))
        reason = rejection_reason(candidate)
        content = canonical_json([candidate.task.digest, candidate.to_json()["turns"]])
        if reason is None and content in seen:
            reason = "duplicate"
        if reason is not None:
            rejected[reason] += 1
            continue
        seen.add(content)
        accepted.append(candidate)
        collapsed += retried and not whole
        kept_whole += whole
    return Selection(tuple(accepted), dict(sorted(rejected.items())), collapsed, kept_whole)


def rejection_reason(trajectory: Trajectory) -> str | None:
    """Why a scored trajectory is not to be learnt from; None when it is."""
    scores = trajectory.scores
    assert scores is not None
    if trajectory.end != "replied":
        return trajectory.end
    if scores.accuracy != 1:
        return "inaccurate"
    if scores.effectiveness != 1:
        return "reply_out_of_format"
    if scores.skill_selection != 1:
        return "skill_selection"
    if scores.tool_rationality != 1:
        return "tool_rationality"
    if any(_refused_calls([turn]) for turn in trajectory.turns if not was_blocked(turn)):
        # Part of a turn's calls went through, so the turn cannot be dropped.
        return "refused_call"
    return None


def was_blocked(turn: Turn) -> bool:
    """Whether nothing of the turn took effect: a hook blocked it, or it could not be read."""
    refused = turn.calls and all(observation.kind in _REFUSED_KINDS for observation in turn.observations)
    return turn.verdict is not None or bool(refused)


def without_blocked_turns(trajectory: Trajectory) -> Trajectory:
    """The same episode as if the turns that took no effect had never been."""
    return replace(trajectory, turns=tuple(turn for turn in trajectory.turns if not was_blocked(turn)))


def _has_unteachable_turn(trajectory: Trajectory) -> bool:
    return any(turn.raw is not None for turn in trajectory.turns) or _refused_calls(trajectory.turns)


def _refused_calls(turns: Sequence[Turn]) -> bool:
    return any(observation.kind in _REFUSED_KINDS for turn in turns for observation in turn.observations)
