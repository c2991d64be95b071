"""Trajectories of twin pairs for training: both members of a pair are right and go on, or neither does."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hat.agent.episode import Episode
from hat.agent.policy import Policy
from hat.augment.state import HarnessState
from hat.augment.twins.base import Member, TwinPair
from hat.augment.twins.make import make_twins
from hat.domains.base import Domain
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import rejection_reason, without_blocked_turns
from hat.trajectories.storage import read_trajectories, write_trajectories

TWINS_FILE = "twins.jsonl"


@dataclass(frozen=True)
class PlayedPair:
    """A pair and the accepted trajectories of its members."""

    pair: TwinPair
    plain: Trajectory
    twin: Trajectory


def training_pairs(harness: Harness, domain: Domain, count: int, seed: int) -> list[TwinPair]:
    """The pairs of a run, a pure function of its arguments; those of one rule share a session, and so a prompt.

    Raises:
        BadInput: the domain or the harness does not allow as many.
    """
    original = HarnessState.original(harness)
    made = make_twins(original, domain, split="train", count=count, seed=seed, one_session=True)
    return list(made.pairs)


def play_pairs(policy: Policy, pairs: Sequence[TwinPair], domain: Domain) -> list[PlayedPair]:
    """Both members of each pair played by a policy; a pair of which one is not right in every respect is left out."""
    members = [member for pair in pairs for _, member in pair.members]
    episodes = [Episode(member.state, member.task, domain) for member in members]
    policy.play(episodes, domain.execute, lambda index: None)
    scored = [
        _scored(episode.trajectory(policy.name), member, domain)
        for episode, member in zip(episodes, members, strict=True)
    ]
    played = [
        PlayedPair(pair, plain, twin)
        for pair, plain, twin in zip(pairs, scored[::2], scored[1::2], strict=True)
    ]
    return [
        one for one in played if rejection_reason(one.plain) is None and rejection_reason(one.twin) is None
    ]


def write_pairs(folder: Path, played: Sequence[PlayedPair]) -> None:
    """Write ``twins.jsonl``: the members of each pair one after the other."""
    write_trajectories(folder / TWINS_FILE, [member for one in played for member in (one.plain, one.twin)])


def read_pairs(folder: Path, pairs: Sequence[TwinPair]) -> list[PlayedPair]:
    """The trajectories of `write_pairs`, with their pairs.

    Args:
        pairs: those that were played, made again.

    Raises:
        BadInput: no such file, or trajectories of other pairs.
    """
    path = folder / TWINS_FILE
    trajectories = {one.task.id: one for one in read_trajectories(path)}
    played = []
    for pair in pairs:
        found = [trajectories.pop(member.task.id, None) for _, member in pair.members]
        plain, twin = found
        if plain is None and twin is None:
            continue
        if plain is None or twin is None:
            raise BadInput(f"pair {pair.id} lacks a member", where=str(path))
        for (name, member), trajectory in zip(pair.members, (plain, twin), strict=True):
            if trajectory.state.digest != member.state.digest:
                raise BadInput(f"{name} of pair {pair.id} was played under another state", where=str(path))
        played.append(PlayedPair(pair, plain, twin))
    if trajectories:
        raise BadInput(
            f"{len(trajectories)} trajectories belong to no pair of these settings, as {min(trajectories)}",
            where=str(path),
            mend="They were made with other settings or other code: run `generate` again.",
        )
    return played


def _scored(trajectory: Trajectory, member: Member, domain: Domain) -> Trajectory:
    collapsed = without_blocked_turns(trajectory)
    return collapsed.with_scores(domain.score(member.task, collapsed, member.state.canonical))
