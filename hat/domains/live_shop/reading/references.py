"""Finds which product a reply speaks of: "link 3", "No. 3", "#3" or a product's name."""

from __future__ import annotations

import re

from hat.domains.live_shop.catalogue import Catalogue

FIRST, LAST = "\ue000", "\uf8ff"
"""A mark is one private-use character, FIRST + link id: no digit of a reference is ever read as a claim."""
MARK = f"[{FIRST}-{LAST}]"

_NOUN = r"(?:links?|items?|products?|numbers?|nos?\.|option|#|链接)"
_ONE = re.compile(
    rf"(?<![A-Za-z0-9]){_NOUN}\s*(?:no\.\s*|number\s+|#)?([0-9]{{1,4}})(?![0-9A-Za-z]|\.[0-9])", re.I
)
# "links 3 and 7": a bare number that goes on a list of references.
_NEXT = re.compile(
    rf"({MARK})(\s*(?:,|and|&|or|vs\.?|,\s*and)\s*)#?([0-9]{{1,4}})"
    r"(?![0-9A-Za-z%]|\.[0-9]|\s*(?:yuan|rmb|cny|元|块|days?|left|in stock|pieces|units|remaining))",
    re.I,
)


def mark(link_id: int) -> str:
    return chr(min(ord(FIRST) + link_id, ord(LAST)))


def subject_of(character: str) -> str:
    """The subject a mark stands for: "link 3"."""
    return f"link {ord(character) - ord(FIRST)}"


def mark_references(text: str, catalogue: Catalogue) -> str:
    """The text with every reference to a product replaced by its mark."""
    text = re.sub(MARK, " ", text)
    plural = re.search(r"\b(?:links|items|products|numbers|nos\.)\s*#?[0-9]", text, re.I) is not None
    text = _ONE.sub(lambda match: mark(int(match.group(1))), text)
    while plural and _NEXT.search(text):
        text = _NEXT.sub(
            lambda match: f"{match.group(1)}{match.group(2)}{mark(int(match.group(3)))}", text, count=1
        )
    links = catalogue.link_of_name
    return catalogue.name_pattern.sub(lambda match: mark(links[match.group(0).casefold()]), text)
