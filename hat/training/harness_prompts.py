"""The prompts of harness-OPD: training episodes under augmented harness states, each cut where the assistant speaks."""

import random
from collections.abc import Sequence

from hat.augment.config import AugmentConfig
from hat.augment.plan import require_proven
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import domain_of
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.harness.render import render_tools
from hat.models.tokens import ChatTokens
from hat.trajectories.present import present
from hat.trajectories.record import Trajectory

_SEEDS = 6_000_000
"""Where the seeds of these states begin, away from those of every other stage."""


def draw_harness_prompts(
    trajectories: Sequence[Trajectory],
    harness: Harness,
    augment: AugmentConfig,
    tokens: ChatTokens,
    count: int,
    seed: int,
) -> list[str]:
    """``count`` rendered conversations, each of another augmented state, up to a turn of the assistant by chance.

    All trajectories come once before any comes again.

    Raises:
        BadInput: there are no trajectories, or a gate fails on a state.
    """
    if not trajectories:
        raise BadInput("there are no trajectories to take harness prompts from")
    chance = random.Random(f"harness-prompts/{seed}")
    always = augment.model_copy(update={"original_share": 0.0})
    order: list[Trajectory] = []
    while len(order) < count:
        order.extend(chance.sample(trajectories, len(trajectories)))

    def state_of(number: int) -> HarnessState:
        return sample_state(harness, seed=_SEEDS + seed * count + number, split="train", config=always)

    # Drawn again below, so that however many there are, one is held.
    require_proven(map(state_of, range(count)), harness, domain_of(harness), always)
    prompts = []
    for number, trajectory in enumerate(order[:count]):
        state = state_of(number)
        messages = present(trajectory, state)
        turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
        cut = messages[: chance.choice(turns)]
        prompts.append(tokens.text(cut, render_tools(state.presented), generation=True))
    return prompts
