"""The facts that a free reply asserts, each with the product it is said of.

Method: references become marks; the reply is cut into sentences and clauses; values and phrases found in a
clause become facts, their kind decided by the words of the clause or of those before it, their subject by the
nearest reference before them. Anything in digits that no rule explains is itself a fact (`number`), so that a
reply cannot hide a false figure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from hat.domains.base import Fact
from hat.domains.live_shop.catalogue import Catalogue
from hat.domains.live_shop.reading import phrases
from hat.domains.live_shop.reading.references import FIRST, LAST, MARK, mark_references, subject_of
from hat.domains.live_shop.reading.values import Value, find_values, spell_digits

_SENTENCE = re.compile(r"(?<=[!?.;。！？；])\s+|(?<=[。！？；])|\n+")
_CLAUSE = re.compile(
    r"[,;，；:()]|\s[-–—]+\s|\b(?:and|but|or|while|whereas|so|then|however|though|although)\b", re.I
)
_SHIPPING = re.compile(
    r"\b(?:shipp?(?:s|ed|ing)?|deliver(?:s|y|ed)?|postage|freight|fees?|arriv\w*|courier)\b", re.I
)
_COUPON = re.compile(
    r"\b(?:coupons?|codes?|vouchers?|promo\w*|after|discount(?:ed)?|drops?|down to|comes? to|brings?|lowers?|"
    r"final price|instead of|apply|applied|use|using|becomes?|cheaper with|deal)\b",
    re.I,
)
# "39.9 yuan (coupon LIVE20)": the aside tells what the amount before it is.
_COUPON_ASIDE = re.compile(r"\(((?:[a-z]+\s+){0,3}[A-Z]{3,}[0-9]+)\)")
_PRICE = re.compile(
    r"\b(?:prices?|priced|sells?|selling|original(?:ly)?|list price|regular(?:ly)?|normally)\b", re.I
)
_RETURN = re.compile(
    r"\b(?:return\w*|refund\w*|exchang\w*|send it back|sent back|money back|take it back)\b", re.I
)
_LESS = r"cheaper|less expensive|costs? less|lower(?:[ -]priced)?|better priced"
_MORE = r"more expensive|costs? more|pricier|higher(?:[ -]priced)?|dearer"
_COMPARED = re.compile(
    rf"({MARK})([^{FIRST}-{LAST}?]{{0,40}}?)\b(?:({_LESS})|(?:{_MORE}))\b|"
    rf"\b(?:({_LESS})|(?:{_MORE}))\s+(?:one|option|choice|item|link|product)\s+(?:here\s+)?(?:is|:)\s*(?:the\s+)?({MARK})",
    re.I,
)
_VAGUE_EXACT = re.compile(
    r"\b(?:about|around|approximately|approx\.?|roughly|almost|nearly|over|under|more than|less than|"
    r"at least|at most|up to|from|between|starting at)\s*(?:¥|RMB)?\s*$",
    re.I,
)
_VAGUE_DAYS = re.compile(r"\b(?:over|more than|less than|under|fewer than|at least|between)\s*$", re.I)
_OFF = re.compile(
    r"^\s*(?:yuan|rmb|元)?\s*(?:off|discount|savings?|less|cheaper|more expensive|more|lower|higher)\b", re.I
)
_OFF_BEFORE = re.compile(
    r"\b(?:save|saves|saving|difference (?:is|of)|off by|reduced by)\s*(?:¥|RMB)?\s*$", re.I
)
_FOR_MARK = re.compile(rf"^\s*(?:yuan|rmb|元)?\s*(?:for|on|\()\s*(?:the\s+)?({MARK})", re.I)


@dataclass
class _Reading:
    """What is carried from clause to clause: the money context and the last reference."""

    default_subject: str
    context: str = "price"
    subject: str = ""
    facts: set[Fact] = field(default_factory=set)


@lru_cache(maxsize=8192)
def extract_facts(reply: str, catalogue: Catalogue, default_subject: str = "") -> frozenset[Fact]:
    """The facts of a reply. `default_subject` ("link 3") is meant where the reply names no product at all.

    Beside the kinds of gold facts it may give: `available`, `cheaper`, `dearer`, `difference`, `region`,
    `number` and `unverified`, which the scorer accepts only where they follow from the gold or the results.
    """
    text = reply.replace("’", "'").replace("‘", "'").replace("：", ":")
    text = (
        re.sub(r"[*_`]+", " ", text).replace("p.m.", "pm").replace("a.m.", "am").replace("approx.", "approx")
    )
    text = spell_digits(mark_references(text, catalogue))
    text = _COUPON_ASIDE.sub(r" with \1 ", text)
    reading = _Reading(default_subject)
    sentences = [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]
    stated = [sentence for sentence in sentences if not sentence.endswith(("?", "？"))]
    for sentence in stated:
        _read_sentence(sentence, reading)
    _read_declines(stated, reading)
    return frozenset(reading.facts)


def _read_sentence(sentence: str, reading: _Reading) -> None:
    if re.search(MARK, sentence):
        reading.context = "price"
    hedged = phrases.HEDGE.search(sentence) is not None
    values = find_values(sentence)
    paired = _paired_subjects(sentence, values)
    start = 0
    for clause_end in [match.start() for match in _CLAUSE.finditer(sentence)] + [len(sentence)]:
        clause = sentence[start:clause_end]
        here = [value for value in values if start <= value.start < clause_end]
        _read_clause(sentence, clause, start, here, paired, hedged, reading)
        start = clause_end
    reading.facts |= {_comparison(match) for match in _COMPARED.finditer(sentence)}
    marks = re.findall(MARK, sentence)
    if marks:
        reading.subject = subject_of(marks[-1])


def _comparison(match: re.Match[str]) -> Fact:
    """ "link 3 is not cheaper" says, prices being different, that it is dearer."""
    subject = subject_of(match.group(1) or match.group(5))
    less = bool(match.group(3) or match.group(4))
    if re.search(r"\bnot\b|n't\b", match.group(2) or ""):
        less = not less
    return Fact("cheaper" if less else "dearer", "", subject)


def _read_clause(
    sentence: str,
    clause: str,
    start: int,
    values: list[Value],
    paired: dict[int, str],
    hedged: bool,
    reading: _Reading,
) -> None:
    clause_without_free = phrases.FREE_SHIPPING.sub(" ", clause)
    if _SHIPPING.search(clause_without_free) or _speaks_of_delivery(values, clause):
        reading.context = "fee"
    elif _COUPON.search(clause) or any(value.kind == "code" for value in values):
        reading.context = "coupon"
    elif _PRICE.search(clause):
        reading.context = "price"
    for value in values:
        kind = _fact_kind(value, sentence, clause, reading.context)
        if kind == "fee" and value.text == "0":
            _add(reading, Fact("free_shipping", "", _subject(sentence, value.start, value.end, reading)))
            continue
        if kind == "stock" and value.text == "0":
            _add(reading, Fact("sold_out", "", _subject(sentence, value.start, value.end, reading)))
            continue
        text = _qualified(value, kind, sentence, hedged)
        subject = (
            ""
            if kind in ("host", "ends_at", "region", "number")
            else (paired.get(value.start) or _subject(sentence, value.start, value.end, reading))
        )
        _add(reading, Fact(kind, text, subject))
    _read_phrases(sentence, clause, start, reading)


def _speaks_of_delivery(values: list[Value], clause: str) -> bool:
    days = any(value.kind == "days" for value in values) and not _RETURN.search(clause)
    return days or any(value.kind == "region" for value in values)


def _fact_kind(value: Value, sentence: str, clause: str, context: str) -> str:
    if value.kind == "clock":
        return "ends_at"
    if value.kind == "code":
        return "coupon_code"
    if value.kind == "days":
        returns = _RETURN.search(clause) or (_RETURN.search(sentence) and not _SHIPPING.search(clause))
        return "return_days" if returns else "days"
    if value.kind != "money":
        return value.kind
    if _OFF.match(sentence[value.end :]) or _OFF_BEFORE.search(sentence[: value.start]):
        return "difference"
    return {"fee": "fee", "coupon": "coupon_price"}.get(context, "price")


def _qualified(value: Value, kind: str, sentence: str, hedged: bool) -> str:
    """The value, marked when it is negated or not stated exactly."""
    before = sentence[: value.start]
    clause_start = max((match.end() for match in _CLAUSE.finditer(before)), default=0)
    before = before[clause_start:]
    if kind == "return_days" and re.search(r"\b(?:after|past|beyond)\s*$", before):
        # "but not after 7 days" states the same limit again.
        return value.text
    if kind not in ("number", "region") and phrases.NEGATION.search(before):
        return f"not {value.text}"
    vague = _VAGUE_DAYS if kind in ("days", "return_days") else _VAGUE_EXACT
    if hedged or (kind not in ("size", "material", "color", "host") and vague.search(before)):
        return f"perhaps {value.text}"
    return value.text


def _subject(sentence: str, start: int, end: int, reading: _Reading) -> str:
    after = _FOR_MARK.match(sentence[end:])
    if after:
        return subject_of(after.group(1))
    before = re.findall(MARK, sentence[:start])
    if before:
        return subject_of(before[-1])
    if reading.subject:
        return reading.subject
    later = re.search(MARK, sentence[end:])
    return subject_of(later.group(0)) if later else reading.default_subject


def _paired_subjects(sentence: str, values: list[Value]) -> dict[int, str]:
    """Where a sentence names k products and then k amounts, the amounts belong to them in order."""
    marks = [(match.start(), subject_of(match.group(0))) for match in re.finditer(MARK, sentence)]
    amounts = [value.start for value in values if value.kind == "money"]
    subjects = list(dict.fromkeys(subject for _, subject in marks))
    if len(subjects) < 2 or len(subjects) != len(amounts) or len(marks) != len(subjects):
        return {}
    if marks[-1][0] > amounts[0]:
        return {}
    return dict(zip(amounts, subjects, strict=True))


def _read_phrases(sentence: str, clause: str, start: int, reading: _Reading) -> None:
    def state(kind: str, match: re.Match[str]) -> None:
        position = start + match.start()
        _add(reading, Fact(kind, "", _subject(sentence, position, position, reading)))

    sold_out = phrases.SOLD_OUT.search(clause)
    if sold_out and not phrases.NOT_SOLD_OUT.search(clause) and not phrases.NO_COUPON.search(clause):
        if not _COUPON.search(clause):
            state("sold_out", sold_out)
    elif (in_stock := phrases.IN_STOCK.search(clause)) and not sold_out:
        state("available", in_stock)
    if no_coupon := phrases.NO_COUPON.search(clause):
        state("no_coupon", no_coupon)
    free = phrases.FREE_SHIPPING.search(clause)
    if (
        free
        and not phrases.NOT_FREE.search(clause)
        and (_SHIPPING.search(sentence) or reading.context == "fee")
    ):
        state("free_shipping", free)
    no_returns = phrases.NO_RETURNS.search(clause)
    if no_returns and not phrases.LIMITED_RETURN.search(clause):
        state("no_returns", no_returns)


def _read_declines(sentences: list[str], reading: _Reading) -> None:
    """A decline, and beside it any segment that is neither declining nor courtesy: an unverified claim."""
    segments = [
        segment.strip(" ,")
        for sentence in sentences
        for segment in re.split(r"\b(?:but|however|although|though)\b", sentence, flags=re.I)
        if re.search(r"\w", segment)
    ]
    declining = [segment for segment in segments if _declines(segment)]
    if not declining:
        return
    reading.facts.add(Fact("decline", ""))
    for segment in segments:
        if segment not in declining and not phrases.COURTESY.search(segment):
            reading.facts.add(Fact("unverified", segment))


def _declines(segment: str) -> bool:
    other = (phrases.NO_COUPON, phrases.NO_RETURNS, phrases.SOLD_OUT)
    return phrases.DECLINE.search(segment) is not None and not any(
        pattern.search(segment) for pattern in other
    )


def _add(reading: _Reading, fact: Fact) -> None:
    reading.facts.add(fact)
