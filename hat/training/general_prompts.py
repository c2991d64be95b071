"""The general prompts of on-policy distillation: our own, apart from every evaluation and harness."""

import random
from functools import cache
from importlib.resources import files

import yaml

from hat.errors import BadInput


@cache
def general_prompts() -> tuple[str, ...]:
    """All prompts, in the order of the file."""
    text = (files("hat.training") / "general_prompts.yaml").read_text(encoding="utf-8")
    banks = yaml.safe_load(text)
    return tuple(prompt for name, bank in banks.items() if name != "schema_version" for prompt in bank)


def draw_prompts(count: int, seed: int) -> list[str]:
    """``count`` prompts in a random order; all come once before any comes again.

    Raises:
        BadInput: none are wanted.
    """
    if count < 1:
        raise BadInput("no general prompts are wanted", where="general prompts")
    stream = random.Random(f"general-prompts/{seed}")
    drawn: list[str] = []
    while len(drawn) < count:
        drawn.extend(stream.sample(general_prompts(), len(general_prompts())))
    return drawn[:count]
