"""The scripted expert's own grammar of viewers' questions: intent and slots from the words alone.

It knows the closed vocabularies (regions, words of product names), as a shop assistant would, but no phrasing
bank, no catalogue and no gold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hat.domains.live_shop.vocabulary import FIRST_WORDS, NOUNS, REGIONS

_LINK = re.compile(r"(?:\blinks?\b|\bitem\b|\bnumbers?\b|\bno\b\.?|#)\s*#?\s*([0-9]+)", re.I)
_SECOND_LINK = re.compile(r"[0-9]+\s*(?:and|or|vs\.?|&|with|to|,)\s*#?([0-9]+)", re.I)
_NOUN_WORDS = "|".join(noun for nouns in NOUNS.values() for noun in nouns)
_NAME = re.compile(rf"\b(?:{'|'.join(FIRST_WORDS)})\s+(?:{_NOUN_WORDS})\b|[\u4e00-\u9fff]{{2,}}", re.I)
_REGION = re.compile(rf"\b(?:{'|'.join(REGIONS)})\b", re.I)


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


_OF_LINK: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("returns", _words(r"\breturn", r"refund", r"\bback\b", r"exchang", r"regret")),
    (
        "shipping",
        _words(r"\bship", "deliver", "postage", "freight", r"\barriv", "courier", r"\breach", r"\bsend\b"),
    ),
    (
        "coupon",
        _words("coupon", "voucher", "discount", "promo", r"\b(?:codes?|deals?|offers?|off|cheaper)\b"),
    ),
    ("material", _words("material", "fabric", r"\bmade\b", r"\bmake\b.*\bfrom\b", r"\bingredient")),
    ("color", _words(r"\bcolou?rs?\b")),
    ("size", _words(r"\bsizes?\b", "how (?:big|large|tall|wide|long is|heavy)", r"\bdimension")),
    (
        "stock",
        _words(
            "stock", r"\bleft\b", "availab", "sold out", "sell out", "remain", r"\bstill\b", r"\bgone\b",
            r"\bhow many\b(?! yuan)", r"\bany more\b",
        ),
    ),
)  # fmt: skip
"""What a question about one link asks, tried in this order; the price, when none fits."""

_DETAILS = ("material", "color", "size")
_STREAM = r"\b(?:live|stream\w*|show|broadcast|room|session)\b"
_SHOWING = _words(
    r"\bthis(?: one| cost| thing| item|$)",
    r"\bshow(?:ing|n)\b",
    r"on (?:the |your )?screen",
    r"\bholding\b",
    r"in (?:your|ur) hands?",
    r"\bcurrent\b",
    "product on air",
    "presenting, ",
    "in front of you",
    "one you have there",
    "that thing",
    r"\bthat one\b",
    r"how much is (?:it|that|this)\b",
)
_PRICE = _words("how much", r"\bprice", r"\bcosts?\b", "going for", r"\byuan\b", r"\bpay\b", r"\bexpensive\b")
_HOST = _words(
    r"\bwho\b(?:'s|s| is| are| am| r| runs?)?\b.*"
    r"\b(?:you|u|host\w*|present\w*|stream\w*|on air|watching|talking|live|speaking|channel)\b",
    r"\bwho is (?:it|she|he|this|that|who)\b",
    r"\bis who\b",
    r"\b(?:your|ur) name\b",
    r"host(?:'s)? name",
    "name of the host",
    r"\bcall you\b",
    "which host",
    r"\bpresenter\b",
    "new host",
)
_ENDS = _words(
    rf"(?:{_STREAM}|\b(?:you|u)\b).*"
    r"\b(?:end|ends|ending|over|finish\w*|clos\w+|offline|done|sign off|wrap up|stop\w*)\b",
    rf"\b(?:end|ends|ending|over|finish\w*|clos\w+|off|stop)\b.*{_STREAM}",
    rf"\b(?:until|till|til)\b.*(?:{_STREAM}|\b(?:on|you|watch)\b)",
    rf"how (?:long|late)\b.*(?:{_STREAM}|\b(?:on|here)\b)",
    "wrap up",
    "sign off",
    "go offline",
    "much longer",
)


@dataclass(frozen=True)
class Understood:
    """What a question asks for; only the slots of its intent are set."""

    intent: str
    links: tuple[int, ...] = ()
    attribute: str = ""
    name: str = ""
    region: str = ""


def understand(question: str) -> Understood:
    """Intent and slots of a question; what fits nothing in the shop is `off_topic`."""
    links = _links(question)
    if len(links) > 1:
        return Understood("compare", links[:2])
    region = _REGION.search(question)
    if links:
        return _about_link(question, links, region.group(0) if region else "")
    names = _NAME.findall(question)
    if names:
        return Understood("price_by_name", name=names[-1])
    if _HOST.search(question):
        return Understood("host")
    if _SHOWING.search(question) and _PRICE.search(question):
        return Understood("showing_price")
    if _ENDS.search(question):
        return Understood("ends_at")
    return Understood("off_topic")


def _about_link(question: str, links: tuple[int, ...], region: str) -> Understood:
    asked = next((intent for intent, pattern in _OF_LINK if pattern.search(question)), "price")
    if region and asked != "returns":
        return Understood("shipping", links, region=region)
    if asked in _DETAILS:
        return Understood("detail", links, attribute=asked)
    return Understood(asked, links)


def _links(question: str) -> tuple[int, ...]:
    found = [(match.start(1), int(match.group(1))) for match in _LINK.finditer(question)]
    if found:
        found += [(match.start(1), int(match.group(1))) for match in _SECOND_LINK.finditer(question)]
    return tuple(dict.fromkeys(link for _, link in sorted(found)))
