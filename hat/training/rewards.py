"""Rewards of a rollout and the advantages made of them: by component, apart for calls and reply.

Components are normalised within their group, weighted and summed, and the sum is scaled over the batch: GDPO
(arXiv 2601.05242). Tool-call segments are credited by what calls can change, the reply by what it can change.
"""

import math
from collections.abc import Mapping, Sequence

import torch

from hat.domains.base import Scores
from hat.training.safety import BrokenNumbers

COMPONENTS = ("accuracy", "effectiveness", "tool_rationality", "skill_selection", "length")
CALL_COMPONENTS = ("accuracy", "tool_rationality", "skill_selection")
REPLY_COMPONENTS = ("accuracy", "effectiveness", "length")

FREE_LENGTH = 1.25
"""A right reply is not too long below this multiple of the gold reply's length."""
LENGTH_BUCKET = 0.25
"""Multiples of the gold length in one step of the length term: replies within it count as equally long."""

_EPSILON = 1e-4  # TRL's own, so that one component alone gives TRL's advantages
_SMALLEST_SCALE = 0.5
"""The batch is never scaled up by more than 2: what differs in little but length stays of little weight."""

Rewards = Mapping[str, float | None]
"""Component -> value; None where a rollout has none (the length of a wrong reply, all of a failed engine)."""


def rollout_rewards(scores: Scores | None, reply_tokens: int, gold_tokens: int) -> dict[str, float | None]:
    """The components of one rollout; all None without scores.

    ``reply_tokens`` and ``gold_tokens`` are the lengths of its reply and of the gold one.
    """
    if scores is None:
        return dict.fromkeys(COMPONENTS)
    right = scores.accuracy == 1
    return {
        "accuracy": float(scores.accuracy),
        "effectiveness": float(scores.effectiveness),
        "tool_rationality": float(scores.tool_rationality),
        "skill_selection": float(scores.skill_selection),
        # A wrong reply has no length worth judging: shortness must never make up for being wrong.
        "length": length_reward(reply_tokens, gold_tokens) if right else None,
    }


def length_reward(tokens: int, gold_tokens: int) -> float:
    """0 up to `FREE_LENGTH` times the gold's length, then -0.25 for each bucket begun, at least -1."""
    excess = tokens / max(gold_tokens, 1) - FREE_LENGTH
    return -min(1.0, 0.25 * math.ceil(excess / LENGTH_BUCKET)) if excess > 0 else 0.0


def check_rewards(rollout: str, rewards: Rewards) -> None:
    """Raises `BrokenNumbers`, naming the rollout, when a component is not finite (None is allowed)."""
    for name, value in rewards.items():
        if value is not None and not math.isfinite(value):
            raise BrokenNumbers(
                f"reward {name} is {value}",
                where=f"rollout {rollout}",
                mend="A scorer divided by zero or the like: correct it; None is how it says 'not known'.",
            )


def advantages(rewards: torch.Tensor, weights: torch.Tensor, group_size: int) -> torch.Tensor:
    """GDPO advantages of N rollouts, whose groups are neighbours.

    Args:
        rewards: (N, K), NaN where a component is None.
        weights: (K,).

    Returns:
        (N,), always finite; exactly 0 for a rollout whose group does not differ in any component.
    """
    grouped = rewards.double().view(-1, group_size, rewards.shape[1])
    known = ~grouped.isnan()
    count = known.sum(1, keepdim=True)
    values = grouped.nan_to_num(0.0)
    mean = values.sum(1, keepdim=True) / count.clamp(min=1)
    centred = (values - mean) * known
    deviation = (centred.square().sum(1, keepdim=True) / (count - 1).clamp(min=1)).sqrt()
    # Judged by the values themselves: rounding in the mean would pass for a difference and be blown up.
    highest = grouped.nan_to_num(-torch.inf).amax(1, keepdim=True)
    lowest = grouped.nan_to_num(torch.inf).amin(1, keepdim=True)
    differs = (count > 1) & (highest > lowest)
    normalised = torch.where(differs, centred / (deviation + _EPSILON), 0.0)
    total = (normalised * weights.double()).sum(-1).flatten()
    scale = total.std() if total.numel() > 1 else total.new_zeros(())
    return (total / (scale + _EPSILON).clamp(min=_SMALLEST_SCALE)).to(rewards.dtype)


def segment_advantages(
    rewards: Sequence[Rewards], weights: Mapping[str, float], group_size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The advantages of the tool-call segments and of the reply segments, each (N,)."""
    table = reward_table(rewards)
    made = []
    for names in (CALL_COMPONENTS, REPLY_COMPONENTS):
        columns = [COMPONENTS.index(name) for name in names]
        chosen = torch.tensor([weights[name] for name in names])
        made.append(advantages(table[:, columns], chosen, group_size))
    return made[0], made[1]


def reward_table(rewards: Sequence[Rewards]) -> torch.Tensor:
    """(N, K) in the order of `COMPONENTS`, NaN for None."""
    rows = [[math.nan if row[name] is None else row[name] for name in COMPONENTS] for row in rewards]
    return torch.tensor(rows, dtype=torch.float64)


def group_differences(
    rewards: Sequence[Rewards], weights: Mapping[str, float], group_size: int
) -> list[float]:
    """How much each group can teach: the weighted sum of its components' deviations, 0 where none differs."""
    table = reward_table(rewards).view(-1, group_size, len(COMPONENTS))
    known = ~table.isnan()
    highest = table.nan_to_num(-torch.inf).amax(1)
    lowest = table.nan_to_num(torch.inf).amin(1)
    count = known.sum(1).clamp(min=1)
    mean = table.nan_to_num(0.0).sum(1) / count
    spread = (((table - mean[:, None]).nan_to_num(0.0) ** 2).sum(1) / count).sqrt()
    weighted = torch.tensor([weights[name] for name in COMPONENTS], dtype=torch.float64)
    return (torch.where(highest > lowest, spread, 0.0) * weighted).sum(-1).tolist()
