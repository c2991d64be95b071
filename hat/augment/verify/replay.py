"""G3: presenting the gold and replaying it gives identical calls, results, hook verdicts, end and scores."""

from collections.abc import Iterator

from hat.augment.verify.finding import Finding
from hat.augment.verify.gold import Subject
from hat.trajectories.present import present
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import rejection_reason


def check_replay(subject: Subject) -> Iterator[Finding]:
    """G3, on every gold trajectory.

    What training presents and what an episode shows come from one renderer, so comparing them on one trajectory a
    state is enough; which one goes round with the seed.
    """
    gold, state = subject.gold, subject.state
    if gold.trajectories and not subject.trajectories:
        yield Finding("gold", "there is no gold that the state serves")
        return
    compared = state.seed % max(1, len(subject.trajectories))
    for number, (trajectory, episode) in enumerate(zip(subject.trajectories, subject.replays, strict=True)):
        if episode is None:
            yield Finding(trajectory.task.id, f"the gold of {trajectory.task.id} ends early")
            continue
        now = episode.trajectory()
        different = _first_difference(now, trajectory)
        if different is not None:
            symbol, what = different
            why = f"replaying the gold of {trajectory.task.id} gives another canonical episode: {what}"
            yield Finding(symbol, why)
        elif number == compared and episode.messages() != present(trajectory, state):
            yield Finding(
                trajectory.task.id,
                f"the gold of {trajectory.task.id} is presented otherwise than it is played",
            )
        else:
            after = gold.domain.score(now.task, now, state.canonical)
            if state.regenerates:
                reason = rejection_reason(now.with_scores(after))
                if reason is not None:
                    why = f"the gold derived again for {now.task.id} is not right: {reason}, {now.reply!r}"
                    yield Finding(now.task.id, why)
                continue
            before = gold.scores(trajectory, subject.harness)
            if after != before:
                why = f"the gold of {trajectory.task.id} is scored otherwise: {after}, not {before}"
                yield Finding(trajectory.task.id, why)


def _first_difference(now: Trajectory, before: Trajectory) -> tuple[str, str] | None:
    """The symbol at which two episodes part, and in what."""
    if (now.turns, now.end, now.reply) == (before.turns, before.end, before.reply):
        return None
    for number, (turn, gold) in enumerate(zip(now.turns, before.turns, strict=False)):
        if turn == gold:
            continue
        for call, wanted, seen, expected in zip(
            turn.calls, gold.calls, turn.observations, gold.observations, strict=False
        ):
            if call != wanted:
                return wanted.name, f"turn {number} calls {call}, not {wanted}"
            if seen != expected:
                return wanted.name, f"turn {number} observes {seen}, not {expected}"
        return before.task.id, f"turn {number} is {turn}, not {gold}"
    return before.task.id, f"it ends with {now.end!r} and {now.reply!r}"
