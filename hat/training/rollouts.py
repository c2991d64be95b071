"""Groups of rollouts for reinforcement learning: one harness state and one task, played several times."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hat.agent.calls import OPEN_TAG
from hat.agent.episode import Episode
from hat.agent.faults import ALL_FAULTS, FaultSchedule, with_faults
from hat.agent.policies.local import Rollout
from hat.agent.policy import Executor
from hat.augment.config import AugmentConfig
from hat.augment.plan import require_proven
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Scores, Task
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.training.config import RLConfig
from hat.training.rewards import check_rewards, rollout_rewards
from hat.trajectories.record import Trajectory, Turn
from hat.trajectories.selection import rejection_reason, was_blocked

RL_SEEDS = 7_000_000
"""Where the seeds of this stage's tasks and states begin, away from those that made the SFT data."""

NO_SEGMENT, CALLS, REPLY = 0, 1, 2
"""What a completion token belongs to: nothing that was sampled, a turn with tool calls, a reply."""


class RolloutPolicy(Protocol):
    """What plays rollouts: `hat.agent.policies.local.LocalPolicy` or `hat.agent.policies.served.ServedPolicy`."""

    name: str
    tokens: Any

    def roll_out(self, episodes: Sequence[Episode], execute: Executor) -> list[Rollout]: ...


@dataclass(frozen=True)
class Group:
    """What all rollouts of a group have in common."""

    state: HarnessState
    task: Task
    gold_reply: str
    """The expert's reply; only its length is used."""
    faults: FaultSchedule | None = None
    """Which calls of its rollouts fail at first, the same for all of them."""


@dataclass(frozen=True)
class ScoredRollout:
    """One rollout in token ids, as sampled. The lists by token are as long as the completion."""

    id: str
    group: int
    policy_version: int
    prompt_ids: list[int]
    completion_ids: list[int]
    segments: list[int]
    """0 where the token was not sampled, else the number of its assistant turn, from 1."""
    kinds: list[int]
    """`NO_SEGMENT`, `CALLS` or `REPLY`."""
    sampling_log_probs: list[float]
    """0 where the token was not sampled."""
    rewards: dict[str, float | None]
    trajectory: Trajectory

    @property
    def accepted(self) -> bool:
        """Whether it is right in every respect, by the rule that selects training trajectories."""
        return self.trajectory.scores is not None and rejection_reason(self.trajectory) is None

    @property
    def learnt(self) -> list[int]:
        """1 at the tokens that rejection-sampled SFT learns from: sampled, accepted, and not of a blocked turn."""
        blocked = {number for number, turn in enumerate(self.trajectory.turns, start=1) if was_blocked(turn)}
        return [
            int(self.accepted and segment != NO_SEGMENT and segment not in blocked)
            for segment in self.segments
        ]


def plan_groups(
    harness: Harness, domain: Domain, config: RLConfig, augment: AugmentConfig, seed: int
) -> list[Group]:
    """The groups of a whole run, in order: a pure function of its arguments. Every augmented state is proven.

    Raises:
        BadInput: the domain has too few such tasks, its expert does not reply to one, or a gate fails on a state.
    """
    count = config.steps * config.candidate_groups
    tasks = domain.sample_tasks("train", count, RL_SEEDS + seed, config.intents or None)
    augmented = round(count * config.augmented_share)
    order = [True] * augmented + [False] * (count - augmented)
    random.Random(f"{harness.digest}/{seed}").shuffle(order)
    always = augment.model_copy(update={"original_share": 0.0})
    states = [
        sample_state(harness, seed=RL_SEEDS + seed * count + index, split="train", config=always)
        if changed
        else HarnessState.original(harness)
        for index, changed in enumerate(order)
    ]
    episodes = [Episode(state, task, domain) for state, task in zip(states, tasks, strict=True)]
    failing = random.Random(f"{harness.digest}/{seed}/faults")
    faults = [
        FaultSchedule(state.seed, kinds=ALL_FAULTS) if failing.random() < config.fault_share else None
        for state in states
    ]
    groups = with_gold(episodes, faults, domain)
    # Only now: the gates score as well, and what a score raises is told by `with_gold`.
    require_proven(states, harness, domain, always)
    return groups


def with_gold(
    episodes: Sequence[Episode], faults: Sequence[FaultSchedule | None], domain: Domain
) -> list[Group]:
    """A group for each episode, which the expert plays to its end, without the faults.

    Scoring what it played shows before any step whether the reward function works.

    Raises:
        BadInput: the expert does not reply to a task, or scoring one fails.
    """
    domain.expert().play(episodes, domain.execute, lambda index: None)
    for episode in episodes:
        if episode.end != "replied":
            raise BadInput(
                f"the expert ends task {episode.task.id} with {episode.end}", where="reinforcement learning"
            )
        scores_of(domain, episode)
    return [
        Group(episode.state, episode.task, episode.reply, schedule)
        for episode, schedule in zip(episodes, faults, strict=True)
    ]


def scores_of(domain: Domain, episode: Episode, policy: str = "") -> Scores:
    """The domain's scores of a played episode.

    Raises:
        BadInput: scoring fails; the task and what was raised are named.
    """
    try:
        return domain.score(episode.task, episode.trajectory(policy), episode.state.canonical)
    except Exception as error:
        raise BadInput(
            f"the reward function raised {type(error).__name__}: {error}",
            where=f"domain {domain.name}, task {episode.task.id}",
            mend="Correct the domain's `score`: it must score any episode, also one that goes wrong.",
        ) from error


def play_groups(
    policy: RolloutPolicy,
    groups: Sequence[Group],
    indices: Sequence[int],
    domain: Domain,
    policy_version: int,
) -> list[ScoredRollout]:
    """Play one episode for each of ``indices``: numbers of ``groups``, each as often as it has rollouts.

    Raises:
        BrokenNumbers: a reward is not finite; the rollout is named.
    """
    episodes = []
    for position, index in enumerate(indices):
        group = groups[index]
        name = f"{group.task.id}/{group.state.digest[:12]}/v{policy_version}/{position}"
        episodes.append(Episode(group.state, group.task, domain, name))
    schedules = {group.task.id: group.faults for group in groups if group.faults is not None}
    played = policy.roll_out(episodes, with_faults(domain.execute, schedules))
    return [
        _score(policy, episode, rollout, groups[index], index, domain, policy_version)
        for episode, rollout, index in zip(episodes, played, indices, strict=True)
    ]


def _score(
    policy: RolloutPolicy,
    episode: Episode,
    rollout: Rollout,
    group: Group,
    index: int,
    domain: Domain,
    policy_version: int,
) -> ScoredRollout:
    trajectory = episode.trajectory(policy.name)
    scores = None
    if episode.end not in ("engine_error", "unfinished"):
        scores = scores_of(domain, episode, policy.name)
        trajectory = trajectory.with_scores(scores)
    reply_tokens = len(policy.tokens.ids(trajectory.reply))
    rewards = rollout_rewards(scores, reply_tokens, len(policy.tokens.ids(group.gold_reply)))
    check_rewards(episode.id, rewards)
    segments, kinds = segments_of(rollout, trajectory.turns)
    return ScoredRollout(
        id=episode.id,
        group=index,
        policy_version=policy_version,
        prompt_ids=list(rollout.prompt_ids),
        completion_ids=list(rollout.completion_ids),
        segments=segments,
        kinds=kinds,
        sampling_log_probs=list(rollout.log_probs),
        rewards=rewards,
        trajectory=trajectory,
    )


def segments_of(rollout: Rollout, turns: Sequence[Turn]) -> tuple[list[int], list[int]]:
    """Each completion token's segment number and kind; what was appended between turns has neither."""
    segments = [NO_SEGMENT] * len(rollout.completion_ids)
    kinds = list(segments)
    for number, ((begin, end), turn) in enumerate(zip(rollout.turns, turns, strict=True), start=1):
        kind = CALLS if turn.calls or (turn.raw is not None and OPEN_TAG in turn.raw) else REPLY
        segments[begin:end] = [number] * (end - begin)
        kinds[begin:end] = [kind] * (end - begin)
    return segments, kinds
