import json
import re
from importlib.resources import files

import pytest

from hat.errors import BadInput
from hat.training.general_prompts import draw_prompts, general_prompts


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def word_runs(text: str, length: int) -> set[str]:
    words = plain(text).split()
    return {" ".join(words[start : start + length]) for start in range(len(words) - length + 1)}


def evaluation_prompts() -> list[str]:
    suite = files("hat.evaluation") / "instruction_following_prompts.jsonl"
    return [json.loads(line)["prompt"] for line in suite.read_text(encoding="utf-8").splitlines() if line]


def test_there_are_enough_prompts_and_none_twice() -> None:
    prompts = general_prompts("long")
    assert len(prompts) >= 300
    assert prompts[: len(general_prompts())] == general_prompts()
    assert len(general_prompts()) >= 120
    assert len({plain(prompt) for prompt in prompts}) == len(prompts)


def test_no_prompt_shares_its_text_with_the_instruction_following_suite() -> None:
    evaluated = evaluation_prompts()
    assert evaluated
    assert not {plain(prompt) for prompt in evaluated} & {plain(prompt) for prompt in general_prompts("long")}
    runs = {run for prompt in evaluated for run in word_runs(prompt, 6)}
    for prompt in general_prompts("long"):
        assert not word_runs(prompt, 6) & runs, prompt


def test_prompts_say_nothing_of_tools_or_harnesses() -> None:
    for prompt in general_prompts("long"):
        assert not re.search(r"tool_call|load_skill|link \d|coupon|on air", prompt.casefold()), prompt


def test_every_prompt_comes_once_before_any_comes_again() -> None:
    size = len(general_prompts())
    drawn = draw_prompts(size + 5, seed=2)
    assert len(set(drawn[:size])) == size
    assert draw_prompts(size + 5, seed=2) == drawn != draw_prompts(size + 5, seed=3)


def test_a_stage_without_prompts_is_refused() -> None:
    with pytest.raises(BadInput):
        draw_prompts(0, seed=1)
