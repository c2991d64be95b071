"""The gold of a question: which operations a right solution calls and which facts a right reply asserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hat.domains.base import Fact
from hat.domains.live_shop.catalogue import Catalogue, Product
from hat.errors import BadInput

TOOL_INTENTS = (
    "price",
    "detail",
    "price_by_name",
    "showing_price",
    "stock",
    "coupon",
    "shipping",
    "returns",
    "compare",
)
ROOM_INTENTS = ("ends_at", "host")
DECLINE_INTENTS = ("off_topic", "missing_link")
INTENTS: tuple[str, ...] = (*TOOL_INTENTS, *ROOM_INTENTS, *DECLINE_INTENTS)

RETURN_DAYS: dict[str, int] = {"clothing": 7, "home": 30, "beauty": 14}
"""Days to return by category; food never, and nothing in the final sale."""

OPERATION_OF = {
    "price": "product_info",
    "detail": "product_info",
    "returns": "product_info",
    "stock": "check_stock",
    "coupon": "find_coupon",
    "shipping": "shipping_quote",
}
"""The operation behind a question about one link."""

FIRST_OPERATION = {**OPERATION_OF, "showing_price": "product_info", "price_by_name": "search_products"}
"""The operation that a question needs first, of those intents that need one at a time."""

Operations = tuple[tuple[str, Mapping[str, Any]], ...]


def gold_operations(
    intent: str, slots: Mapping[str, Any], session: Mapping[str, str | int], catalogue: Catalogue
) -> Operations:
    """The operations that solve the question, in order; none where the prompt alone answers it."""
    if intent in ("ends_at", "host", "off_topic"):
        return ()
    if intent == "missing_link":
        return (_one_link(slots["asked"], slots),)
    if intent == "price_by_name":
        link = _by_name(catalogue, slots["name"]).link_id
        return (("search_products", {"query": slots["name"]}), ("product_info", {"link_id": link}))
    if intent == "showing_price":
        return (("product_info", {"link_id": session["showing"]}),)
    if intent == "compare":
        return tuple(("product_info", {"link_id": slots[key]}) for key in ("a", "b"))
    return (_one_link(intent, slots),)


def gold_facts(
    intent: str, slots: Mapping[str, Any], session: Mapping[str, str | int], catalogue: Catalogue
) -> tuple[Fact, ...]:
    """Exactly what a right reply asserts."""
    if intent in DECLINE_INTENTS:
        return (Fact("decline", ""),)
    if intent in ROOM_INTENTS:
        return (Fact(intent, str(session[intent])),)
    if intent == "compare":
        return tuple(price_fact(_product(catalogue, slots[key])) for key in ("a", "b"))
    if intent == "price_by_name":
        return (price_fact(_by_name(catalogue, slots["name"])),)
    if intent == "showing_price":
        return (price_fact(_product(catalogue, int(session["showing"]))),)
    product = _product(catalogue, slots["link"])
    if intent == "price":
        return (price_fact(product),)
    if intent == "detail":
        return (Fact(slots["attribute"], getattr(product, slots["attribute"]), product.subject),)
    if intent == "stock":
        return (stock_fact(product),)
    if intent == "coupon":
        return coupon_facts(product)
    if intent == "shipping":
        return shipping_facts(catalogue, product, slots["region"])
    return (return_fact(product),)


def price_fact(product: Product) -> Fact:
    return Fact("price", product.price, product.subject)


def stock_fact(product: Product) -> Fact:
    if product.stock == 0:
        return Fact("sold_out", "", product.subject)
    return Fact("stock", str(product.stock), product.subject)


def coupon_facts(product: Product) -> tuple[Fact, ...]:
    if product.coupon is None:
        return (Fact("no_coupon", "", product.subject),)
    return (
        Fact("coupon_code", product.coupon.code, product.subject),
        Fact("coupon_price", product.coupon.price_after, product.subject),
    )


def shipping_facts(catalogue: Catalogue, product: Product, region: str) -> tuple[Fact, ...]:
    quote = catalogue.shipping(product.link_id, region)
    if quote is None:
        raise BadInput(f"no region {region!r}", where="live_shop task", mend="Use a region of the catalogue.")
    days = Fact("days", str(quote.days), product.subject)
    if quote.fee == 0:
        return (days, Fact("free_shipping", "", product.subject))
    return (days, Fact("fee", str(quote.fee), product.subject))


def return_fact(product: Product) -> Fact:
    """The business rule of returns: final sale and food never, else by category."""
    return return_facts(product.subject, RETURN_DAYS.get(product.return_class))[0]


def return_facts(subject: str, days: int | None) -> tuple[Fact, ...]:
    """That a product can be returned within some days, or, without any, not at all."""
    if days is None:
        return (Fact("no_returns", "", subject),)
    return (Fact("return_days", str(days), subject),)


def _one_link(asked: str, slots: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    arguments: dict[str, Any] = {"link_id": slots["link"]}
    if asked == "shipping":
        arguments["region"] = slots["region"]
    return OPERATION_OF[asked], arguments


def _product(catalogue: Catalogue, link_id: int) -> Product:
    product = catalogue.product(link_id)
    if product is None:
        raise BadInput(f"no link {link_id}", where="live_shop task", mend="Use a link of the catalogue.")
    return product


def _by_name(catalogue: Catalogue, name: str) -> Product:
    product = catalogue.find(name)
    if product is None:
        raise BadInput(
            f"no product called {name!r}", where="live_shop task", mend="Use a name of the catalogue."
        )
    return product
