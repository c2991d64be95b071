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
    (
        "returns",
        _words(
            r"\breturn", r"refund", r"\bback\b", r"exchang", r"regret", r"\bswap", "change my mind",
            "cooling off",
        ),
    ),
    (
        "shipping",
        _words(r"\bship", "deliver", "postage", "freight", r"\barriv", "courier", r"\breach", r"\bsend\b"),
    ),
    (
        "coupon",
        _words(
            r"\bc(?:ou|u|o)pon", "voucher", "discount", "promo", "markdown", "rebate", "bargain", "lower price",
            r"\breduc", r"\b(?:codes?|deals?|offers?|off|cheaper)\b",
        ),
    ),
    (
        "material",
        _words(
            "material", "fabric", r"\bmade\b", r"\bmake\b.*\bfrom\b", r"\bingredient", r"\bmaking\b",
            "used to make", "compos", "consist", "manufactur", r"\bproduced?\b",
        ),
    ),
    ("color", _words(r"\bcolou?rs?\b", r"\b(?:shade|hue|tint)s?\b")),
    (
        "size",
        _words(
            r"\bsizes?\b", "how (?:big|large|huge|small|tall|wide|long is|heavy)", r"\bdimension",
            r"\bmeasure", r"\b(?:big|large) (?:one )?or (?:a )?small\b",
        ),
    ),
    (
        "stock",
        _words(
            "stock", r"\bstok\b", "inventory", "warehouse", r"\bleft\b", "availab", "sold out", "sell out",
            r"\b(?:ran|run|running) (?:out|low)\b", "remain", r"\bstill\b", r"\bgone\b", r"\bany more\b",
            r"\bhow many\b(?! (?:yuan|rmb|kuai))", r"\bthat many\b", r"\bplenty\b", r"\bthere enough\b",
            r"\blast few\b", r"\btoo late\b", r"\bto spare\b", r"\bon hand\b",
        ),
    ),
)  # fmt: skip
"""What a question about one link asks, tried in this order; the price, when none fits."""

_DETAILS = ("material", "color", "size")
_STREAM = r"\b(?:live|stream\w*|show|broadcast|room|session)\b"
_SHOWING = _words(
    r"\b(?:this|dis)(?: one| cost| thing| item|\W*$|[?!,])",
    r"\b(?:buy|get|want|love|like) this\b",
    r"\bshow(?:ing|n)\b",
    r"on (?:the |your )?(?:screen|camera|air|display|table)\b",
    r"\b(?:holding|presenting|demonstrating|unboxing)\b",
    r"being presented",
    r"in (?:your|ur) hands?",
    r"\bcurrent\b",
    "in front of (?:you|the camera)",
    "in the picture",
    r"\b(?:up|about) (?:right )?now\b",
    "one you have there",
    "that thing",
    r"\bthat one\b",
    r"how much is (?:it|that|this)\b",
)
_PRICE = _words(
    r"\bho?w much", r"\bpric", r"\bcosts?\b", "going for", "sells? for", r"\bcharg", r"\byuan\b", r"\bpay\b",
    r"\bexpensive\b",
)  # fmt: skip
_HOST = _words(
    r"\bwho(?:'s|s| is| are| am| r| runs?| do i)?\b.*\b(?:host\w*|present\w*|stream\w*|on air|live|channel"
    r"|camera|mic|watching|listening|talking|speaking|selling)\b",
    r"\bwho (?:are|r|is|might) (?:you|u)\b(?! \w+ing\b)",
    r"\b(?:you|u) (?:are|r) who\b",
    r"\bwho is (?:it|she|he|this|that|who)\b",
    r"\bis who\b",
    rf"\bwhose {_STREAM}",
    r"\b(?:your|ur) name\b",
    r"host(?:'?s)? name",
    r"\bname\b.*\b(?:host|streamer|presenter|presenting)\b",
    r"\b(?:tag|thank|know)\b.*\bhost\b.*\bname\b",
    r"\b(?:call|address) (?:you|u|the host)\b",
    r"\b(?:you|u) called\b",
    r"\bname do (?:you|u) go by\b",
    r"\bintroduce (?:yo)?urself\b",
    r"\bwhich (?:host|presenter)\b",
    r"\bpresenter\b",
    "new host",
)
_ENDING = (
    r"\b(?:end|ends|ending|over|finish\w*|clos\w+|shut\w*|offline|off|done|stop\w*|leav\w+|wrap up|pack up)\b"
)
_ENDS = _words(
    rf"{_STREAM}.*{_ENDING}",
    rf"{_ENDING}.*{_STREAM}",
    r"\b(?:when|what time|what hour)\b.*\b(?:are|r|is|do|does|will|before)"
    rf" (?:you|u|it|this|the host|the selling)\b.*{_ENDING}",
    rf"\b(?:until|till|til)\b.*(?:{_STREAM}|\b(?:on|you|watch)\b)",
    rf"{_STREAM}.*\b(?:until|till|til|midnight)\b",
    rf"how (?:long|late|many (?:more )?hours|much time)\b.*(?:{_STREAM}|\b(?:you|u|host)\b.*\b(?:on|here)\b)",
    rf"\blast minute\b.*{_STREAM}",
    r"\b(?:end|ending|finish|finishing|closing) time\b",
    r"\b(?:sign|log|logging|signing) off\b",
    "wrap up",
    "go offline",
    "say (?:good)?bye",
    "call it a night",
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
