"""The scripted expert's replies: one short template for each kind of answer, values copied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

DECLINE = "Sorry, I cannot answer that here."


def price(link: int, product: Mapping[str, Any]) -> str:
    return f"Link {link} costs {_number(product['price'])} yuan."


def compared(a: int, first: Mapping[str, Any], b: int, second: Mapping[str, Any]) -> str:
    return (
        f"Link {a} costs {_number(first['price'])} yuan and link {b} costs {_number(second['price'])} yuan."
    )


def detail(link: int, attribute: str, product: Mapping[str, Any]) -> str:
    verb = {"material": "is made of", "color": "is", "size": "comes in size"}[attribute]
    return f"Link {link} {verb} {product[attribute]}."


def stock(link: int, result: Mapping[str, Any]) -> str:
    left = result["in_stock"]
    return f"Link {link} is sold out." if left == 0 else f"Link {link} has {left} left."


def coupon(link: int, result: Mapping[str, Any]) -> str:
    if result["code"] is None:
        return f"Link {link} has no coupon."
    return f"Link {link} costs {_number(result['price_after'])} yuan with coupon {result['code']}."


def shipping(link: int, region: str, quote: Mapping[str, Any]) -> str:
    fee = "free shipping" if quote["fee"] == 0 else f"fee {_number(quote['fee'])} yuan"
    return f"Link {link} takes {_days(quote['days'])} to {region}, {fee}."


def returns(link: int, product: Mapping[str, Any], days: int | None) -> str:
    """Names the product's return class, as its tool result does, before what the rule says of that class."""
    allowed = "no returns" if days is None else f"{_days(days)} to return"
    return f"Link {link} counts {product['returns']}: {allowed}."


def room(intent: str, session: Mapping[str, str | int]) -> str:
    return (
        f"The live ends at {session['ends_at']}."
        if intent == "ends_at"
        else f"The host is {session['host']}."
    )


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"


def _number(value: Any) -> str:
    """The number as its tool result shows it."""
    return json.dumps(value)
