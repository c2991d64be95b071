"""Facts that a reply states in words: sold out, no coupon, free shipping, no returns, and declining.

The grammar of each is the documented list of patterns below, matched within one clause.
"""

from __future__ import annotations

import re

from hat.domains.live_shop.reading.references import MARK

_NOT = r"(?:not|n't|cannot|never|no longer|nor)"
_GAP = r"(?:\s+[\w'-]+){0,3}?\s+"
_COUPON = r"(?:coupons?|codes?|vouchers?|promos?|promotions?|discounts?|offers?|deals?)"
_RETURN = (
    r"(?:return(?:s|ed|able)?|refund(?:s|ed|able)?|exchang(?:e|es|ed|eable)|sent back|send|taken? back|"
    r"give(?:n)? back)"
)
_CARRY = r"(?:shipping|delivery|postage)"


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.I)


SOLD_OUT = _any(
    r"sold[ -]out",
    r"out of stock",
    rf"{_NOT}\s+(?:\w+\s+)?(?:in stock|available|left)",
    r"no\s+(?:more\s+)?stock",
    r"none\s+(?:are\s+)?(?:left|remaining|in stock|available)",
    r"no\s+(?:more\s+)?(?:pieces|units|items)\s+(?:are\s+)?(?:left|remaining)",
    r"\ball gone\b",
    r"\bno longer in stock",
    r"\bunavailable",
    r"stock is (?:empty|zero)",
    r"nothing left",
)
NOT_SOLD_OUT = _any(rf"{_NOT}\s+(?:\w+\s+)?(?:sold[ -]out|out of stock)")
IN_STOCK = _any(r"\bin stock\b")
NO_COUPON = _any(
    rf"\bno\s+(?:[\w-]+\s+){{0,2}}?{_COUPON}\b",
    rf"{_NOT}{_GAP}{_COUPON}\b",
    rf"without\s+(?:a\s+|any\s+)?{_COUPON}\b",
    rf"\bnone of the {_COUPON}",
    rf"{_COUPON}\s+(?:is|are)\s+(?:not|n't|unavailable)",
    rf"\b{_COUPON}\b:?\s+none\b",
)
FREE_SHIPPING = _any(
    r"free\s+(?:shipping|delivery|postage|of charge)",
    rf"(?:{_CARRY}|freight|ships?|shipped|delivered|delivers?|fee|sent|it)\b(?:\s+[\w'-]+){{0,4}}?\s+(?:for\s+)?free\b",
    rf"\b(?:no|without(?:\s+an?y?)?|zero)\s+(?:extra\s+|additional\s+)?"
    rf"(?:{_CARRY}\s*(?:fee|cost|charge)s?|{_CARRY}\b|fees?\b|charges?\b)",
    r"\bfor free\b",
    r"(?:\bis|'s) free\b",
    r"\bfree\s*$",
)
NOT_FREE = _any(rf"{_NOT}\s+(?:\w+\s+)?free", "feel free", "free to ask")
NO_RETURNS = _any(
    r"\bno\s+(?:[\w-]+\s+)?(?:returns?|refunds?|exchanges?)\b",
    rf"{_NOT}{_GAP}?\s*(?:be\s+)?{_RETURN}\b",
    r"non-?\s?(?:returnable|refundable)",
    r"un-?returnable",
    r"\b(?:returns?|refunds?|exchanges?)\b(?:\s+[\w'-]+){0,3}?\s+"
    r"(?:(?:is|are|was)\s*(?:not|n't)|cannot|can't|can not|isn't|aren't|never)",
)
# "opened items cannot be returned", "not after 7 days": a limit of a return, not a refusal of it.
LIMITED_RETURN = re.compile(r"\b(?:opened|used|worn|washed|damaged|after|once|later than|past)\b", re.I)

_TELL = (
    r"(?:answer|help|assist|tell|say|discuss|talk|speak|provide|give|share|comment|find|advise|recommend|"
    r"respond|know|see|locate|do (?:that|this)|look|check|offer (?:advice|information)|support|sing|lend|"
    r"predict|chat|reply)"
)
_LACK = (
    r"(?:information|info|details?|data|an? answer|the answer|answers|access|that|anything|any|such|"
    rf"knowledge|{MARK})"
)
_PLACE = r"(?:catalog(?:ue)?|room|shop|store|list|live|stream|show|session|system|shelf|links?)"
DECLINE = _any(
    r"(?:can ?not|can't|cant|could not|couldn't|unable to|not able to|won't|will not|not allowed to|"
    rf"not going to|not here to)(?:\s+[\w'-]+){{0,3}}?\s+{_TELL}\b",
    rf"(?:don't|do not|dont)\s+(?:\w+\s+)?(?:have|know|see|carry|sell|find)\s+(?:\w+\s+){{0,2}}?{_LACK}",
    r"\b(?:don't|do not|dont) know\b",
    r"didn't find|did not find",
    rf"{_NOT}(?:\s+[\w'-]+){{0,2}}?\s+(?:exist|found|listed|recogni[sz]ed|valid|part of)\b",
    rf"{_NOT}(?:\s+[\w'-]+){{0,3}}?\s+(?:in|on|from)\s+(?:the|our|this|today's|my)\s+(?:\w+\s+)?{_PLACE}\b",
    rf"\bno\s+(?:{MARK}|(?:such|product|item|link|information|info|details)\b)",
    r"\binvalid\b|\bnonexistent\b",
    r"\b(?:outside|beyond)\s+(?:of\s+)?(?:what|the|my|our|this)\b",
    r"\bnot something\b|\boff[ -]topic\b|\bunrelated to\b|\bnot (?:related|relevant) to\b",
    r"\b(?:can|could|may|am|are) (?:only )?(?:here )?only (?:answer|help|talk|assist|able)\b",
    r"\bonly (?:answer|help with|talk about|here to)\b",
    r"\brather not\b|\b(?:must|have to|need to) decline\b|\bi decline\b",
)
# What may stand beside a decline without asserting anything.
COURTESY = _any(
    r"\b(?:sorry|apologi[sz]e|thanks?|thank you|please|ask|asking|questions?|help|happy|glad|enjoy|pick)\b",
    r"\b(?:let me know|check|feel free|try|anything else|here for|focus|stay|welcome|hello|hi|dear|choose)\b",
)
HEDGE = _any(
    r"\b(?:maybe|perhaps|probably|possibly|i think|i guess|i believe)\b",
    r"\b(?:not sure|unsure)\b",
    # "may be returned" permits, it does not doubt.
    rf"\b(?:might|may|could) be\b(?!\s+{_RETURN})",
)
NEGATION = _any(
    rf"(?:\b|(?=n't))(?:{_NOT}|instead of|rather than|unlike)(?:\s+[\w'-]+){{0,2}}\s*$",
)
