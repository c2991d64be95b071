"""What is proven of each twin pair: its gold is right, differs, and cannot be had without reading the harness.

A solution is *exact* when its reply is right and its calls are those needed and no others: a policy that tries a tool
and sees it fail must not count as one that read that the tool is gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hat.agent.episode import Episode
from hat.agent.policy import Policy, answer_requests
from hat.augment.state import HarnessState
from hat.augment.twins.base import Gold, Member, TwinPair, twins_of
from hat.domains.base import Domain, Scores
from hat.domains.order import REQUIRED_ORDER
from hat.harness.model import Harness
from hat.trajectories.present import assistant_text
from hat.trajectories.record import Trajectory


@dataclass(frozen=True)
class TwinFailure:
    """What does not hold of a pair."""

    pair: str
    check: str
    message: str


def is_exact(scores: Scores) -> bool:
    """Whether the reply is right and nothing was called but what was needed."""
    return scores.accuracy == 1 and scores.tool_rationality == 1


def play(policy: Policy, member: Member, domain: Domain) -> Trajectory:
    """The policy's episode of a member, with its scores."""
    episode = Episode(member.state, member.task, domain)
    policy.play([episode], domain.execute, lambda index: None)
    return _scored(episode.trajectory(policy.name), member, domain)


def verify_pair(pair: TwinPair, harness: Harness, domain: Domain) -> list[TwinFailure]:
    """All that does not hold of a pair; an empty list when everything does.

    Args:
        harness: the unchanged harness, which the harness-blind policy knows by heart.
    """
    checks = {
        "one question, two states": _one_question(pair),
        "declared gold": _as_declared(pair),
        "legal names": _legal_names(pair),
        "expert": _expert_solves(pair, domain),
        "crossed": _crossed_fails(pair, domain),
        "harness-blind": _blind_fails(pair, harness, domain),
    }
    return [TwinFailure(pair.id, check, message) for check, found in checks.items() for message in found]


def _one_question(pair: TwinPair) -> Iterator[str]:
    for name, member in pair.members:
        asked = (member.task.question, member.task.session, member.task.split)
        if asked != (pair.question.question, pair.question.session, pair.split):
            yield f"{name} asks another question"
    if pair.plain.state.digest == pair.twin.state.digest:
        yield "both members have the same state"


def _as_declared(pair: TwinPair) -> Iterator[str]:
    """The gold read from the harness is the one that the maker of the twin meant."""
    for (name, member), gold in zip(pair.members, pair.declared, strict=True):
        task = member.task
        found = Gold(task.facts, task.operations, tuple(task.slots.get(REQUIRED_ORDER, ())))
        if found != gold:
            yield f"{name}: the harness gives {found}, declared is {gold}"


def _legal_names(pair: TwinPair) -> Iterator[str]:
    for name, member in pair.members:
        shown = [tool.name for tool in member.state.presented.tools]
        if len(set(shown)) != len(shown):
            yield f"{name} presents two tools under one name"


def _expert_solves(pair: TwinPair, domain: Domain) -> Iterator[str]:
    for name, member in pair.members:
        trajectory = play(domain.expert(), member, domain)
        scores = trajectory.scores
        if scores is None or not is_exact(scores) or scores.skill_selection != 1:
            yield f"the expert's {name} is not right: {trajectory.reply!r}, {scores}"


def _crossed_fails(pair: TwinPair, domain: Domain) -> Iterator[str]:
    """The text that solves one member must not solve the other."""
    for (name, member), (_, other) in (pair.members, pair.members[::-1]):
        trajectory = play(domain.expert(), member, domain)
        said = say_again(trajectory, member.state, other, domain)
        if said.scores is not None and is_exact(said.scores):
            yield f"what solves {name} solves the other member too"


def _blind_fails(pair: TwinPair, harness: Harness, domain: Domain) -> Iterator[str]:
    blind = twins_of(domain).blind(harness)
    played = [play(blind, member, domain).scores for _, member in pair.members]
    if all(scores is not None and is_exact(scores) for scores in played):
        yield "a policy that never looks at the harness gets both members right"


def say_again(
    trajectory: Trajectory, written_for: HarnessState, member: Member, domain: Domain
) -> Trajectory:
    """The episode of a member in which a trajectory's text, as written for another state, is said word for word."""
    episode = Episode(member.state, member.task, domain)
    for turn in trajectory.turns:
        if episode.done:
            break
        answer_requests(episode, episode.submit(assistant_text(turn, written_for)), domain.execute)
    return _scored(episode.trajectory(), member, domain)


def _scored(trajectory: Trajectory, member: Member, domain: Domain) -> Trajectory:
    return trajectory.with_scores(domain.score(member.task, trajectory, member.state.canonical))
