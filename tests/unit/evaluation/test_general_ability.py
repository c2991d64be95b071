"""General ability: prompts of its own, divergences that are right, retention of what the base passes."""

import json
import math
import re
from importlib.resources import files
from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.evaluation.general_ability import (
    GeneralSettings,
    compare_on,
    general_ability,
    held_out_prompts,
    retention,
    summary,
)
from tests.support.tiny_model import write_tiny_model

SETTINGS = GeneralSettings(prompts=3, max_new_tokens=6)


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def word_runs(text: str, length: int = 6) -> set[str]:
    words = plain(text).split()
    return {" ".join(words[start : start + length]) for start in range(len(words) - length + 1)}


@pytest.fixture(scope="module")
def models(base_model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    return tuple(write_tiny_model(folder / str(seed), base_model, seed) for seed in (1, 2))


def test_no_prompt_is_trained_on_or_asked_in_another_suite() -> None:
    from hat.training.general_prompts import general_prompts

    suite = files("hat.evaluation") / "instruction_following_prompts.jsonl"
    others = [json.loads(line)["prompt"] for line in suite.read_text(encoding="utf-8").splitlines() if line]
    others += general_prompts()
    assert len({plain(prompt) for prompt in held_out_prompts()}) == len(held_out_prompts()) == 70
    assert not {plain(prompt) for prompt in others} & {plain(prompt) for prompt in held_out_prompts()}
    runs = {run for prompt in others for run in word_runs(prompt)}
    for prompt in held_out_prompts():
        assert not word_runs(prompt) & runs, prompt
        assert not re.search(r"tool_call|load_skill|link \d|coupon|on air", prompt.casefold()), prompt


def test_a_model_is_no_distance_from_itself(models) -> None:
    result = general_ability(models[0], models[0], SETTINGS)
    assert result["reverse_kl"] == pytest.approx(0, abs=1e-6)
    assert result["base_sample_gap"] == pytest.approx(0, abs=1e-6)
    assert result["n"] == len(result["items"]) == 3
    assert all(0 < item["tokens"] <= 6 and item["task_digest"] for item in result["items"])


def test_another_model_is_further_away_and_the_same_settings_give_the_same_result(models) -> None:
    result = general_ability(models[1], models[0], SETTINGS)
    assert result == general_ability(models[1], models[0], SETTINGS)
    low, high = result["reverse_kl_ci"]
    assert 0 < low <= result["reverse_kl"] <= high
    assert result["base_sample_gap"] > 0
    assert result["base_sample_log_prob"] < result["base_sample_log_prob_of_base"] < 0


def test_divergence_and_likelihoods_are_what_their_definitions_say(models) -> None:
    import torch

    from hat.agent.policies.local import load_for_decoding

    (model, _), (base, _) = (load_for_decoding(folder, "float32") for folder in models)
    opening, reply = [5, 6, 7], [8, 9]
    divergence, own, other = compare_on(model, base, opening, reply)
    expected = [0.0, 0.0, 0.0]
    for place, token in enumerate(reply):
        seen = torch.tensor([[*opening, *reply[:place]]])
        with torch.inference_mode():
            mine, its = (one(input_ids=seen).logits[0, -1].double().softmax(-1) for one in (model, base))
        expected[0] += float((mine * (mine / its).log()).sum())
        expected[1] += math.log(mine[token])
        expected[2] += math.log(its[token])
    assert (divergence, own, other) == pytest.approx(tuple(expected), rel=1e-4)


def test_rates_weigh_tokens_alike() -> None:
    items = [
        {
            "tokens": tokens,
            "reverse_kl": kl,
            "base_tokens": 10,
            "base_sample_log_prob": -30.0,
            "base_sample_log_prob_of_base": -20.0,
        }
        for tokens, kl in ((1, 1.0), (9, 0.0))
    ]
    rates = summary(items)
    assert rates["reverse_kl"] == pytest.approx(0.1)
    assert (rates["base_sample_log_prob"], rates["base_sample_gap"]) == (-3.0, 1.0)


def test_more_prompts_than_there_are_are_refused(models) -> None:
    with pytest.raises(BadInput, match="70 are there"):
        general_ability(*models, GeneralSettings(prompts=71))


def test_retention_counts_what_the_base_passes_only() -> None:
    def items(*correct: int) -> list[dict]:
        return [{"id": str(place), "correct": value} for place, value in enumerate(correct)]

    found = retention(items(1, 1, 1, 0, 0), items(1, 0, 1, 1, 0))
    assert (found["n"], found["retained"], found["gained"]) == (3, pytest.approx(2 / 3), 1)
    assert found["retained_ci"][0] < 2 / 3 < found["retained_ci"][1]
    assert retention(items(0), items(1)) == {"n": 0, "retained": None, "retained_ci": None, "gained": 1}
    with pytest.raises(BadInput, match="not asked the same prompts"):
        retention(items(1, 0), items(1))
