"""The general prompts of on-policy distillation: our own, apart from every evaluation and harness."""

import random
from functools import cache
from importlib.resources import files

import yaml

from hat.errors import BadInput


@cache
def general_prompts(bank: str = "short") -> tuple[str, ...]:
    """All prompts of a bank, in the order of their files; ``long`` begins with those of ``short``."""
    names = ("general_prompts.yaml", "general_prompts_more.yaml")[: 1 if bank == "short" else 2]
    return tuple(prompt for name in names for prompt in _prompts(name))


def draw_prompts(count: int, seed: int, bank: str = "short") -> list[str]:
    """``count`` prompts of a bank in a random order; all come once before any comes again.

    Raises:
        BadInput: none are wanted.
    """
    if count < 1:
        raise BadInput("no general prompts are wanted", where="general prompts")
    stream = random.Random(f"general-prompts/{seed}")
    drawn: list[str] = []
    while len(drawn) < count:
        drawn.extend(stream.sample(general_prompts(bank), len(general_prompts(bank))))
    return drawn[:count]


def _prompts(name: str) -> list[str]:
    banks = yaml.safe_load((files("hat.training") / name).read_text(encoding="utf-8"))
    return [prompt for bank, texts in banks.items() if bank != "schema_version" for prompt in texts]
