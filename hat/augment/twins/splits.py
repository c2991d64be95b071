"""Divides rules, tool pairs and orders among the splits, so that evaluation's twins are none of training's."""

from collections.abc import Sequence
from itertools import combinations

from hat.domains.base import Split
from hat.files import sha256_text

_TURNS: tuple[Split, ...] = ("train", "test", "dev")


def of_split(names: Sequence[str], split: Split, *, salt: str) -> tuple[str, ...]:
    """The names that belong to a split, in the order given: dealt out in the order of their hashes.

    The names must be those of the domain, not of one harness version, so that a version moves nothing.
    """
    dealt = sorted(set(names), key=lambda name: sha256_text(f"{salt}:{name}"))
    return tuple(name for name in names if _TURNS[dealt.index(name) % len(_TURNS)] == split)


def pairs_of(operations: Sequence[str]) -> list[tuple[str, str]]:
    """Every unordered pair of operations, each in alphabetical order."""
    return list(combinations(sorted(operations), 2))
