"""Comparing documents item by item: reworded, moved, reordered, added, removed."""

from collections.abc import Sequence
from dataclasses import dataclass

from hat.harness.diffing.change import Change
from hat.harness.diffing.matching import match, shared_words
from hat.harness.model import Document

REWORDED = 0.4
"""Share of words from which an item counts as another one reworded."""
MOVED = 0.8
"""The same across documents, where a chance likeness is easier."""


@dataclass(frozen=True)
class Item:
    """One item and where it stands."""

    where: str
    number: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.where}, item {self.number}"


def compare_documents(pairs: Sequence[tuple[str, Document | None, Document | None]]) -> list[Change]:
    """Changes between documents, given as (name of the place, before, after); references already followed."""
    changes: list[Change] = []
    removed: list[Item] = []
    added: list[Item] = []
    for where, before, after in pairs:
        if before is not None and after is not None and before.title != after.title:
            changes.append(Change("rule", "reworded", f"{where}, title", before.title, after.title))
        old, new = _items(where, before), _items(where, after)
        matching = match(
            old,
            new,
            keys=(lambda item: item.text,),
            similarity=lambda left, right: shared_words(left.text, right.text),
            threshold=REWORDED,
        )
        for left, right in matching.pairs:
            if left.text != right.text:
                changes.append(Change("rule", "reworded", right.place, left.text, right.text))
        if matching.reordered:
            lists = ("\n".join(item.text for item in items) for items in (old, new))
            changes.append(Change("rule", "reordered", where, *lists))
        removed += matching.removed
        added += matching.added
    return changes + _across(removed, added)


def _across(removed: Sequence[Item], added: Sequence[Item]) -> list[Change]:
    matching = match(
        removed,
        added,
        keys=(lambda item: item.text,),
        similarity=lambda left, right: shared_words(left.text, right.text),
        threshold=MOVED,
    )
    changes = [
        Change(
            "rule", "moved", right.place, left.text, right.text, note=f"from {left.where} to {right.where}"
        )
        for left, right in matching.pairs
    ]
    changes += [Change("rule", "removed", item.place, before=item.text) for item in matching.removed]
    changes += [Change("rule", "added", item.place, after=item.text) for item in matching.added]
    return changes


def _items(where: str, document: Document | None) -> list[Item]:
    items = document.items if document is not None else ()
    return [Item(where, number, text) for number, text in enumerate(items, start=1)]
