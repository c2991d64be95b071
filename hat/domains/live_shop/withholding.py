"""Reads from a skill whether what it is about may be told at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hat.domains.base import Split

_WITHHELD = re.compile(r"\b(?:not|never)\b[^.]*\bsay sorry\b", re.I)

SUBJECTS: Mapping[str, str] = {"stock": "stock counts", "coupon": "coupons", "shipping": "shipping terms"}
"""Intent -> what a rule about it calls its subject."""

# (told, withheld), by split.
_WORDINGS: Mapping[Split, tuple[str, str]] = {
    "train": (
        "The shop lets you tell {subject}.",
        "The shop does not let you tell {subject}: say sorry, you cannot answer.",
    ),
    "dev": (
        "You can give {subject} to viewers.",
        "Do not give {subject} to viewers; say sorry, you cannot answer.",
    ),
    "test": ("Viewers may hear {subject}.", "Viewers may not hear {subject}: say sorry, you cannot answer."),
}


def withheld(items: Sequence[str]) -> bool:
    """Whether an item of a skill's body says that its subject is not told, and to say sorry instead."""
    return any(_WITHHELD.search(item) for item in items)


def disclosure_rules(intent: str, split: Split) -> tuple[str, str]:
    """The rule that lets an intent's subject be told, and its opposite."""
    told, not_told = (text.format(subject=SUBJECTS[intent]) for text in _WORDINGS[split])
    return told, not_told
