"""Pairing the parts of two versions: by sure signs first, then by how much of their words they share."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Part = TypeVar("Part")
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|\w+")


@dataclass(frozen=True)
class Matching(Generic[Part]):
    """Pairs in the later version's order, and what is left on each side in its order."""

    pairs: tuple[tuple[Part, Part], ...]
    removed: tuple[Part, ...]
    added: tuple[Part, ...]

    before_positions: tuple[int, ...]
    """Where each pair's earlier part stood."""

    @property
    def reordered(self) -> bool:
        """True when the pairs do not stand in the same order on both sides."""
        return list(self.before_positions) != sorted(self.before_positions)


def match(
    before: Sequence[Part],
    after: Sequence[Part],
    keys: Sequence[Callable[[Part], Hashable | None]],
    similarity: Callable[[Part, Part], float],
    threshold: float,
) -> Matching[Part]:
    """Pair by each key in turn where it is unique on both sides, then greedily by similarity.

    A key of None never matches. Ties go to what stands first.
    """
    pairs: dict[int, int] = {}
    for key in keys:
        left = _unique(before, key, set(pairs.values()))
        right = _unique(after, key, set(pairs))
        pairs.update({right[value]: left[value] for value in right if value in left})
    taken = set(pairs.values())
    candidates = sorted(
        (-similarity(before[i], after[j]), i, j)
        for i in range(len(before))
        for j in range(len(after))
        if i not in taken and j not in pairs
    )
    for negative, i, j in candidates:
        if -negative >= threshold and i not in taken and j not in pairs:
            pairs[j] = i
            taken.add(i)
    order = sorted(pairs)
    return Matching(
        pairs=tuple((before[pairs[j]], after[j]) for j in order),
        removed=tuple(part for i, part in enumerate(before) if i not in taken),
        added=tuple(part for j, part in enumerate(after) if j not in pairs),
        before_positions=tuple(pairs[j] for j in order),
    )


def untagged(matching: Matching[tuple[Any, Part]]) -> Matching[Part]:
    """A matching of (tag, part) as one of the parts."""
    return Matching(
        pairs=tuple((left, right) for (_, left), (_, right) in matching.pairs),
        removed=tuple(part for _, part in matching.removed),
        added=tuple(part for _, part in matching.added),
        before_positions=matching.before_positions,
    )


def shared_words(first: str, second: str) -> float:
    """How many words two texts share, in any order: 0 for none, 1 for all (Dice's coefficient)."""
    left, right = Counter(_words(first)), Counter(_words(second))
    total = left.total() + right.total()
    return 1.0 if total == 0 else 2 * (left & right).total() / total


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _unique(
    parts: Sequence[Part], key: Callable[[Part], Hashable | None], taken: set[int]
) -> dict[Hashable, int]:
    keyed = [(key(part), index) for index, part in enumerate(parts) if index not in taken]
    counts = Counter(value for value, _ in keyed)
    return {value: index for value, index in keyed if value is not None and counts[value] == 1}
