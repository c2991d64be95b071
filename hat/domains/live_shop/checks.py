"""The live room's own hook check: a price in a reply must have come from a tool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hat.agent.checks import CheckContext
from hat.domains.live_shop.catalogue import Catalogue, build_catalogue
from hat.domains.live_shop.reading.references import mark_references
from hat.domains.live_shop.reading.values import find_values, plain_number, spell_digits


def price_claims_match_results(context: CheckContext) -> Mapping[str, str] | None:
    """Every amount of money in the reply occurs in a tool result of this episode (a factual-risk check)."""
    seen = {
        number
        for turn in context.turns
        for observation in turn.observations
        if observation.kind == "result" and not observation.code
        for number in _numbers(observation.value)
    }
    for claim in _claims(context.reply or ""):
        if claim not in seen:
            return {"claim": f"{claim} yuan"}
    return None


def money_claims(reply: str, catalogue: Catalogue) -> list[str]:
    """Amounts of money a reply states, as the shortest decimal text; references to links are not amounts."""
    text = spell_digits(mark_references(reply.replace("’", "'"), catalogue))
    return [value.text for value in find_values(text) if value.kind == "money"]


@lru_cache(maxsize=8192)
def _claims(reply: str) -> tuple[str, ...]:
    return tuple(money_claims(reply, build_catalogue()))


def _numbers(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {number for item in value.values() for number in _numbers(item)}
    if isinstance(value, list):
        return {number for item in value for number in _numbers(item)}
    if isinstance(value, bool) or not isinstance(value, int | float):
        return set()
    return {plain_number(str(value))}
