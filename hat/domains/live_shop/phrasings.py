"""The phrasings of viewers' questions, divided into train, dev and test."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import yaml

from hat.domains.live_shop.splits import divide

HELD_OUT = 6
"""Phrasings a bank gives to dev, and as many to test."""
HELD_OUT_SMALL = 3
"""The same for banks that share an intent (detail_*) and for openers."""


@lru_cache(maxsize=1)
def banks() -> dict[str, dict[str, list[str]]]:
    """Bank name -> split -> phrasings with slots {link}, {a}, {b}, {name}, {region}.

    Banks are intents, `detail_material`, `detail_color`, `detail_size` (one intent), and `openers`.
    """
    text = files("hat.domains.live_shop").joinpath("questions/phrasings.yaml").read_text(encoding="utf-8")
    divided = {}
    for name, lines in yaml.safe_load(text).items():
        phrasings = [line.strip() for line in lines.splitlines() if line.strip()]
        held_out = HELD_OUT_SMALL if name.startswith("detail_") or name == "openers" else HELD_OUT
        divided[name] = divide(phrasings, salt=f"phrasings:{name}", dev=held_out, test=held_out)
    return divided
