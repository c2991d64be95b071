"""The plan of a training run: which harness state and which trajectories make each pack."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hat.augment.state import HarnessState
from hat.errors import BadInput
from hat.files import canonical_json
from hat.trajectories.record import Trajectory


@dataclass(frozen=True)
class PlannedPack:
    """One step's data, all of one session."""

    state_seed: int | None
    """The seed of the harness state; None is the unchanged harness."""
    trajectories: tuple[Trajectory, ...]
    """Learnt from whole."""
    openings: tuple[Trajectory, ...] = ()
    """Learnt from up to their first turn only: which call a question needs is what is hardest to learn, and a first
    turn costs a quarter of a trajectory."""
    state: HarnessState | None = None
    """The harness state where it is not drawn from a seed: a member of twins."""
    twin: "PlannedPack | None" = None
    """The other members of the same pairs, learnt from in the same step."""


def plan_packs(
    trajectories: Sequence[Trajectory],
    state_seeds: Sequence[int | None],
    whole: int,
    openings: int,
    seed: int,
) -> list[PlannedPack]:
    """Give each state ``whole`` trajectories and ``openings`` of one session, chosen by chance among the least used.

    Sessions with fewer trajectories than a pack needs are left out.

    Raises:
        BadInput: there are no trajectories, or no session has as many as a pack needs.
    """
    per_pack = whole + openings
    sessions = _by_session(trajectories)
    if not sessions:
        raise BadInput("there are no trajectories to train on")
    pools = [pool for pool in sessions if len(pool) >= per_pack]
    if not pools:
        most = max(len(pool) for pool in sessions)
        raise BadInput(
            f"no session has more than {most} trajectories, fewer than the {per_pack} of one pack",
            mend="Raise generate.tasks, or lower augment.tasks_per_state or sft.openings_per_state.",
        )
    rng = random.Random(seed)
    uses: Counter[str] = Counter()
    packs = []
    for number, state_seed in enumerate(state_seeds):
        pool = pools[number % len(pools)]
        chosen = sorted(pool, key=lambda one: (uses[one.id], rng.random()))[:per_pack]
        uses.update(one.id for one in chosen)
        rng.shuffle(chosen)
        packs.append(PlannedPack(state_seed, tuple(chosen[:whole]), tuple(chosen[whole:])))
    rng.shuffle(packs)
    return packs


def _by_session(trajectories: Sequence[Trajectory]) -> list[list[Trajectory]]:
    pools: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        pools.setdefault(canonical_json(dict(trajectory.task.session)), []).append(trajectory)
    return [pools[key] for key in sorted(pools)]
