"""What a training set is made of: tools that failed, refusals and twins, which reinforcement learning is to teach."""

import random
from collections.abc import Sequence

from hat.agent.fault_kinds import ALL_FAULTS
from hat.trajectories.record import Trajectory


def kind_of(trajectory: Trajectory) -> str:
    """``fault`` where a tool failed in it, ``decline`` where refusing is right, else ``plain``."""
    codes = {observation.code for turn in trajectory.turns for observation in turn.observations}
    if codes & set(ALL_FAULTS):
        return "fault"
    return "plain" if trajectory.task.answerable else "decline"


def limit_rare(trajectories: Sequence[Trajectory], share: float, seed: int) -> list[Trajectory]:
    """The trajectories with so few of each rare kind that it is at most ``share`` of what is left; which, by chance.

    A share of 1 keeps all. The order stays.
    """
    if share >= 1:
        return list(trajectories)
    kinds = [kind_of(trajectory) for trajectory in trajectories]
    plain = kinds.count("plain")
    allowed = rare_allowed(plain, share)
    dropped: set[int] = set()
    for kind in ("fault", "decline"):
        members = [number for number, found in enumerate(kinds) if found == kind]
        random.Random(f"rare/{seed}/{kind}").shuffle(members)
        dropped.update(members[allowed:])
    return [one for number, one in enumerate(trajectories) if number not in dropped]


def rare_allowed(plain: int, share: float) -> int:
    """How many of one kind may stand beside ``plain`` others, so that they are at most ``share`` of the sum."""
    return int(plain * share / (1 - share))
