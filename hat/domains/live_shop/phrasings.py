"""The phrasings of viewers' questions, divided into train, dev and test."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import yaml

from hat.domains.live_shop.splits import divide_by_share

HELD_OUT_SHARE = 0.2
"""Share of a bank's phrasings that goes to dev, and as much to test."""


@lru_cache(maxsize=1)
def banks() -> dict[str, dict[str, list[str]]]:
    """Bank name -> split -> phrasings with slots {link}, {a}, {b}, {name}, {region}.

    Banks are intents, `detail_material`, `detail_color`, `detail_size` (one intent), and `openers`.
    """
    text = files("hat.domains.live_shop").joinpath("questions/phrasings.yaml").read_text(encoding="utf-8")
    divided = {}
    for name, lines in yaml.safe_load(text).items():
        phrasings = [line.strip() for line in lines.splitlines() if line.strip()]
        divided[name] = divide_by_share(phrasings, salt=f"phrasings:{name}", held_out=HELD_OUT_SHARE)
    return divided
