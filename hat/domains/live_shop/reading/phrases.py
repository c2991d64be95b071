"""Facts that a reply states in words: sold out, no coupon, free shipping, no returns, and declining.

The grammar of each is the documented list of patterns below, matched within one clause.
"""

from __future__ import annotations

import re

from hat.domains.live_shop.reading.references import MARK

_NOT = r"(?:not|n't|cannot|never|no longer|nor)"
_GAP = r"(?:\s+[\w'-]+){0,3}?\s+"
_COUPON = r"(?:coupons?|codes?|vouchers?|promos?|promotions?|discounts?|offers?|deals?)"
_RETURN = r"(?:return(?:s|ed|able)?|refund(?:s|ed|able)?|exchang(?:e|es|ed|eable)|sent back|send|taken? back|give(?:n)? back)"

SOLD_OUT = re.compile(
    rf"sold[ -]out|out of stock|{_NOT}\s+(?:\w+\s+)?(?:in stock|available|left)|no\s+(?:more\s+)?stock|"
    r"none\s+(?:are\s+)?(?:left|remaining|in stock|available)|no\s+(?:more\s+)?(?:pieces|units|items)\s+(?:are\s+)?"
    r"(?:left|remaining)|\ball gone\b|\bno longer in stock|\bunavailable|stock is (?:empty|zero)|nothing left",
    re.I,
)
NOT_SOLD_OUT = re.compile(rf"{_NOT}\s+(?:\w+\s+)?(?:sold[ -]out|out of stock)", re.I)
IN_STOCK = re.compile(r"\bin stock\b", re.I)
NO_COUPON = re.compile(
    rf"\bno\s+(?:[\w-]+\s+){{0,2}}?{_COUPON}\b|{_NOT}{_GAP}{_COUPON}\b|without\s+(?:a\s+|any\s+)?{_COUPON}\b|"
    rf"\bnone of the {_COUPON}|{_COUPON}\s+(?:is|are)\s+(?:not|n't|unavailable)|\b{_COUPON}\b:?\s+none\b",
    re.I,
)
FREE_SHIPPING = re.compile(
    r"free\s+(?:shipping|delivery|postage|of charge)|(?:shipping|delivery|postage|freight|ships?|shipped|delivered|"
    r"delivers?|fee|sent|it)\b(?:\s+[\w'-]+){0,4}?\s+(?:for\s+)?free\b|"
    r"\b(?:no|without(?:\s+an?y?)?|zero)\s+(?:extra\s+|additional\s+)?(?:(?:shipping|delivery|postage)\s*(?:fee|cost|charge)s?"
    r"|(?:shipping|delivery|postage)\b|fees?\b|charges?\b)|\bfor free\b|(?:\bis|'s) free\b|\bfree\s*$",
    re.I,
)
NOT_FREE = re.compile(rf"{_NOT}\s+(?:\w+\s+)?free|feel free|free to ask", re.I)
NO_RETURNS = re.compile(
    rf"\bno\s+(?:[\w-]+\s+)?(?:returns?|refunds?|exchanges?)\b|{_NOT}{_GAP}?\s*(?:be\s+)?{_RETURN}\b|"
    rf"non-?\s?(?:returnable|refundable)|\b(?:returns?|refunds?|exchanges?)\b(?:\s+[\w'-]+){{0,3}}?\s+"
    rf"(?:(?:is|are|was)\s*(?:not|n't)|cannot|can't|can not|isn't|aren't|never)|un-?returnable",
    re.I,
)
# "opened items cannot be returned", "not after 7 days": a limit of a return, not a refusal of it.
LIMITED_RETURN = re.compile(r"\b(?:opened|used|worn|washed|damaged|after|once|later than|past)\b", re.I)

_TELL = (
    r"(?:answer|help|assist|tell|say|discuss|talk|speak|provide|give|share|comment|find|advise|recommend|respond|"
    r"know|see|locate|do (?:that|this)|look|check|offer (?:advice|information)|support|sing|lend|predict|chat|reply)"
)
_LACK = (
    r"(?:information|info|details?|data|an? answer|the answer|answers|access|that|anything|any|such|knowledge|"
    + MARK
    + r")"
)
DECLINE = re.compile(
    rf"(?:can ?not|can't|cant|could not|couldn't|unable to|not able to|won't|will not|not allowed to|not going to|"
    rf"not here to)(?:\s+[\w'-]+){{0,3}}?\s+{_TELL}\b|"
    rf"(?:don't|do not|dont)\s+(?:\w+\s+)?(?:have|know|see|carry|sell|find)\s+(?:\w+\s+){{0,2}}?{_LACK}|"
    r"\b(?:don't|do not|dont) know\b|didn't find|did not find|"
    rf"{_NOT}(?:\s+[\w'-]+){{0,2}}?\s+(?:exist|found|listed|recogni[sz]ed|valid|part of)\b|"
    rf"(?:{_NOT}|isn't|aren't)(?:\s+[\w'-]+){{0,3}}?\s+(?:in|on|from)\s+(?:the|our|this|today's|my)\s+(?:\w+\s+)?"
    r"(?:catalog(?:ue)?|room|shop|store|list|live|stream|show|session|system|shelf|links?)\b|"
    rf"\bno\s+(?:{MARK}|(?:such|product|item|link|information|info|details)\b)|\binvalid\b|\bnonexistent\b|"
    r"\b(?:outside|beyond)\s+(?:of\s+)?(?:what|the|my|our|this)\b|\bnot something\b|\boff[ -]topic\b|\bunrelated to\b|"
    r"\bnot (?:related|relevant) to\b|\b(?:can|could|may|am|are) (?:only )?(?:here )?only (?:answer|help|talk|assist|able)\b|"
    r"\bonly (?:answer|help with|talk about|here to)\b|\brather not\b|\b(?:must|have to|need to) decline\b|\bi decline\b",
    re.I,
)
# What may stand beside a decline without asserting anything.
COURTESY = re.compile(
    r"\b(?:sorry|apologi[sz]e|thanks?|thank you|please|ask|asking|questions?|help|happy|glad|enjoy|welcome|"
    r"let me know|check the|feel free|try|anything else|here for|focus|stay|hello|hi|dear|check|pick|choose)\b",
    re.I,
)
HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|i think|i guess|i believe|might be|may be|could be|not sure|unsure)\b",
    re.I,
)
NEGATION = re.compile(
    rf"(?:\b|(?=n't))(?:{_NOT}|instead of|rather than|unlike)(?:\s+[\w'-]+){{0,2}}\s*$", re.I
)
