"""What a model keeps of the base it was trained from, on general prompts that nothing is trained on.

At 135M parameters absolute scores of instruction following say little, so three measures beside it compare with the
base itself: reverse KL on the model's own samples, the likelihood of the base's samples, and retention of the prompts
that the base passes. Divergences and likelihoods are in nats a token; each item keeps its sums.
"""

import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from hat.errors import BadInput
from hat.evaluation.statistics import wilson_interval
from hat.files import sha256_text

if TYPE_CHECKING:
    from hat.models.tokens import ChatTokens

SUITE = "general_ability"
_RESAMPLES = 2000


class GeneralSettings(BaseModel):
    """Which prompts, and how replies are sampled: at temperature 1, as the measures are expectations there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompts: int = Field(default=70, ge=1)
    """The first so many."""
    max_new_tokens: int = Field(default=64, ge=1)
    """Bound of one reply."""
    batch_size: int = Field(default=32, ge=1)
    seed: int = Field(default=0, ge=0)
    """Of the sampling."""


@cache
def held_out_prompts() -> tuple[str, ...]:
    """All prompts, in the order of the file."""
    text = (files("hat.evaluation") / "held_out_prompts.yaml").read_text(encoding="utf-8")
    return tuple(yaml.safe_load(text)["prompts"])


def general_ability(model: Path, base: Path, settings: GeneralSettings | None = None) -> dict[str, Any]:
    """The suite's result for a model folder against the base's; both in fp32.

    Returns:
        ``{n, reverse_kl, reverse_kl_ci, base_sample_log_prob, base_sample_log_prob_of_base, base_sample_gap,
        base_sample_gap_ci, settings, items}``. ``reverse_kl`` is KL(model || base), exact over the vocabulary at each
        token that the model sampled; ``base_sample_gap`` is how much less likely than to itself the base's replies are
        to the model, an estimate of KL(base || model). Intervals draw whole prompts.

    Raises:
        BadInput: more prompts than there are, the two have not the same vocabulary, or not a whole model.
    """
    from hat.agent.policies.local import load_for_decoding
    from hat.models.tokens import ChatTokens
    from hat.training.preflight import check_same_vocabulary

    settings = settings or GeneralSettings()
    prompts = held_out_prompts()[: settings.prompts]
    if len(prompts) < settings.prompts:
        raise BadInput(f"{settings.prompts} general prompts asked for, {len(prompts)} are there", where=SUITE)
    check_same_vocabulary(model, base)
    (mine, tokenizer), (its, _) = load_for_decoding(model, "float32"), load_for_decoding(base, "float32")
    # One tokenizer for both: the vocabularies are the same, and so must the prompts be.
    tokens = ChatTokens(tokenizer)
    own, others = (_sampled(one, tokens, prompts, settings) for one in (mine, its))
    items = []
    for place, prompt in enumerate(prompts):
        opening = _opening(tokens, prompt)
        divergence, *_ = compare_on(mine, its, opening.ids, own[place])
        _, log_prob, log_prob_of_base = compare_on(mine, its, opening.ids, others[place])
        items.append(
            {
                "id": f"general-{place:03d}",
                "task_digest": sha256_text(prompt),
                "state": "",
                "prompt": prompt,
                "reply": tokens.decode(own[place]),
                "tokens": len(own[place]),
                "reverse_kl": divergence,
                "base_tokens": len(others[place]),
                "base_sample_log_prob": log_prob,
                "base_sample_log_prob_of_base": log_prob_of_base,
            }
        )
    return {**summary(items), "settings": settings.model_dump(mode="json"), "items": items}


def summary(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The suite's rates, in nats a token, from its items' sums."""
    spent = [item["tokens"] for item in items]
    heard = [item["base_tokens"] for item in items]
    divergences = [item["reverse_kl"] for item in items]
    likelihoods = [item["base_sample_log_prob"] for item in items]
    of_base = [item["base_sample_log_prob_of_base"] for item in items]
    gaps = [one - other for one, other in zip(of_base, likelihoods, strict=True)]
    return {
        "n": len(items),
        "reverse_kl": sum(divergences) / sum(spent),
        "reverse_kl_ci": _ratio_interval(divergences, spent),
        "base_sample_log_prob": sum(likelihoods) / sum(heard),
        "base_sample_log_prob_of_base": sum(of_base) / sum(heard),
        "base_sample_gap": sum(gaps) / sum(heard),
        "base_sample_gap_ci": _ratio_interval(gaps, heard),
    }


def retention(base_items: Sequence[Mapping[str, Any]], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of the instruction-following prompts that the base passes, the share that the model passes, too.

    ``gained`` counts those that only the model passes. Prompts are paired by id.

    Raises:
        BadInput: the two were not asked the same prompts.
    """
    passed = {item["id"]: item["correct"] for item in base_items}
    mine = {item["id"]: item["correct"] for item in items}
    if passed.keys() != mine.keys():
        raise BadInput(
            "the base and the model were not asked the same prompts",
            where="retention",
            mend="Evaluate both with the same instruction_following, instruction_prompts and seed.",
        )
    kept = [mine[id] for id, correct in passed.items() if correct]
    interval = wilson_interval(sum(kept), len(kept)) if kept else None
    return {
        "n": len(kept),
        "retained": sum(kept) / len(kept) if kept else None,
        "retained_ci": [interval.low, interval.high] if interval else None,
        "gained": sum(mine[id] for id, correct in passed.items() if not correct),
    }


def compare_on(
    model: Any, base: Any, opening: Sequence[int], reply: Sequence[int]
) -> tuple[float, float, float]:
    """KL(model || base) summed over a reply's tokens, and the reply's log-probability under the model and the base.

    Args:
        opening, reply: token ids; the reply is what is compared on, the opening only what it follows.
    """
    import torch

    ids = torch.tensor([[*opening, *reply]])
    with torch.inference_mode():
        mine, its = (
            torch.log_softmax(one(input_ids=ids).logits[0, len(opening) - 1 : -1].float(), dim=-1)
            for one in (model, base)
        )
        divergence = (mine.exp() * (mine - its)).sum()
        taken = ids[0, len(opening) :, None]
        own, other = (float(one.gather(-1, taken).sum()) for one in (mine, its))
    return float(divergence), own, other


def _opening(tokens: "ChatTokens", prompt: str) -> Any:
    return tokens.opening([{"role": "user", "content": prompt}], None)


def _sampled(
    model: Any, tokens: "ChatTokens", prompts: Sequence[str], settings: GeneralSettings
) -> list[tuple[int, ...]]:
    """One reply a prompt in token ids, with the stop token where it stands."""
    from hat.models.generation import Sample, Sampling, converse

    replies: list[tuple[int, ...]] = [()] * len(prompts)

    def keep(index: int, sample: Sample) -> None:
        replies[index] = sample.ids

    converse(
        model,
        [_opening(tokens, prompt) for prompt in prompts],
        keep,
        stop_ids=[tokens.stop_id],
        sampling=Sampling(settings.max_new_tokens, temperature=1.0, seed=settings.seed),
        slots=settings.batch_size,
    )
    return replies


def _ratio_interval(
    totals: Sequence[float], counts: Sequence[int], confidence: float = 0.95, seed: int = 0
) -> list[float]:
    """A percentile bootstrap of a ratio of sums that draws whole prompts."""
    draw = random.Random(seed)
    pairs = list(zip(totals, counts, strict=True))
    ratios = []
    for _ in range(_RESAMPLES):
        drawn = draw.choices(pairs, k=len(pairs))
        ratios.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    ratios.sort()
    tail = int((1 - confidence) / 2 * _RESAMPLES)
    return [ratios[tail], ratios[-1 - tail]]
