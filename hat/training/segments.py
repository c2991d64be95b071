"""The policy loss over segments: one importance ratio and one advantage for each turn of a rollout.

GSPO (arXiv 2507.18071) takes one ratio a sequence: exp of the mean change of log-probability. With one
ratio and
several advantages in it, the advantages average out: those of a good call and a bad reply cancel. So the
sequence of the ratio is the segment, which here is one assistant turn.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class PolicyLoss:
    """A loss to minimise (scalar) and the share of scored tokens whose ratio was clipped."""

    loss: torch.Tensor
    clipped_share: float


def segment_means(values: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
    """Each token's value replaced by the mean over its segment.

    Args:
        values: (B, T).
        segments: (B, T), 0 where there is no segment; the result is 0 there.
    """
    highest = int(segments.max()) if segments.numel() else 0
    means = torch.zeros_like(values)
    for segment in range(1, highest + 1):
        inside = (segments == segment).to(values.dtype)
        count = inside.sum(-1, keepdim=True)
        mean = (values * inside).sum(-1, keepdim=True) / count.clamp(min=1)
        means = means + mean * inside
    return means


def policy_loss(
    log_probs: torch.Tensor,
    old_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    segments: torch.Tensor,
    clip_low: float,
    clip_high: float,
) -> PolicyLoss:
    """The clipped surrogate with a ratio for each segment; rollouts weigh the same, whatever their length.

    All tensors are (B, T); ``segments`` is 0 at tokens that carry no loss. Within a rollout a segment
    weighs as many tokens as it has, so with one advantage a rollout and ratios of 1 the gradient is that of
    GSPO.
    """
    scored = (segments > 0).to(log_probs.dtype)
    # Selected, not multiplied: at tokens without a loss there may be anything, and 0 * inf is NaN.
    change = torch.where(segments > 0, log_probs - old_log_probs, 0.0)
    ratios = torch.exp(segment_means(change, segments))
    clipped = ratios.clamp(1 - clip_low, 1 + clip_high)
    surrogate = torch.minimum(ratios * advantages, clipped * advantages)
    tokens = scored.sum(-1).clamp(min=1)
    loss = -((surrogate * scored).sum(-1) / tokens).mean()
    beyond = ((clipped * advantages < ratios * advantages) & (segments > 0)).sum()
    return PolicyLoss(loss, float(beyond) / max(1.0, float(scored.sum())))


def supervised_loss(log_probs: torch.Tensor, learnt: torch.Tensor) -> torch.Tensor:
    """The negative log-likelihood of the learnt tokens: rollouts weigh the same, those without any count as 0.

    Args:
        log_probs: (B, T).
        learnt: (B, T), 1 at tokens to learn from, else 0.
    """
    # Selected, not multiplied: at other tokens there may be anything, and 0 * inf is NaN.
    chosen = torch.where(learnt > 0, log_probs, 0.0)
    return -(chosen.sum(-1) / learnt.sum(-1).clamp(min=1)).mean()
