"""The seeded rule that divides products, phrasings, regions and hosts into train, dev and test."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

SPLIT_SEED = 20261130
"""Fixed once: another value would leak what was held out into training."""

Item = TypeVar("Item")


def divide(items: Sequence[Item], *, salt: str, dev: int, test: int) -> dict[str, list[Item]]:
    """Divide items by the order of their hashes: the first go to test, the next to dev, the others to train.

    `salt` names what is divided. The same items always land in the same split; each split keeps input order.
    """
    order = sorted(items, key=lambda item: _hash(f"{SPLIT_SEED}:{salt}:{item}"))
    of_item = {str(item): "test" for item in order[:test]}
    of_item |= {str(item): "dev" for item in order[test : test + dev]}
    parts: dict[str, list[Item]] = {"train": [], "dev": [], "test": []}
    for item in items:
        parts[of_item.get(str(item), "train")].append(item)
    return parts


def divide_by_share(items: Sequence[Item], *, salt: str, held_out: float) -> dict[str, list[Item]]:
    """Divide items by their hash alone: about `held_out` of them to dev, as many to test, the others to train.

    An item's split never depends on the other items, so a list can grow without moving what was held out.
    """
    parts: dict[str, list[Item]] = {"train": [], "dev": [], "test": []}
    for item in items:
        place = int(_hash(f"{SPLIT_SEED}:{salt}:{item}"), 16) / 2**256
        parts["test" if place < held_out else "dev" if place < 2 * held_out else "train"].append(item)
    return parts


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
