"""What the simulated live room's tools do: five read-only operations over the synthetic catalogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hat.domains.base import ToolOutcome
from hat.domains.live_shop.catalogue import Catalogue, Product, json_number

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
NOT_FOUND = "not_found"
INVALID_ARGUMENTS = "invalid_arguments"
UNKNOWN_OPERATION = "unknown_operation"

SIGNATURES: dict[str, dict[str, type]] = {
    "product_info": {"link_id": int},
    "search_products": {"query": str},
    "check_stock": {"link_id": int},
    "find_coupon": {"link_id": int},
    "shipping_quote": {"link_id": int, "region": str},
}
"""Argument names and types of every operation."""


def execute_operation(catalogue: Catalogue, operation: str, arguments: Mapping[str, Any]) -> ToolOutcome:
    """Run one operation. Never raises: a wrong call is an error outcome, as a tool's server would answer."""
    signature = SIGNATURES.get(operation)
    if signature is None:
        return ToolOutcome("error", "this tool does nothing here", UNKNOWN_OPERATION)
    problem = _argument_problem(signature, arguments)
    if problem:
        return ToolOutcome("error", problem, INVALID_ARGUMENTS)
    if operation == "search_products":
        found = catalogue.find(arguments["query"])
        return ToolOutcome("ok", {"link_id": found.link_id}) if found else _not_found("no such product")
    product = catalogue.product(arguments["link_id"])
    if product is None:
        return _not_found(f"no link {arguments['link_id']}")
    if operation == "product_info":
        return ToolOutcome("ok", product_info(product))
    if operation == "check_stock":
        return ToolOutcome("ok", {"in_stock": product.stock})
    if operation == "find_coupon":
        return ToolOutcome("ok", coupon_info(product))
    quote = catalogue.shipping(product.link_id, arguments["region"])
    if quote is None:
        return _not_found(f"no region {arguments['region']}")
    return ToolOutcome("ok", {"days": quote.days, "fee": quote.fee})


def product_info(product: Product) -> dict[str, Any]:
    """The result of `product_info`, keys in a fixed order."""
    return {
        "name": product.name,
        "price": json_number(product.price),
        "material": product.material,
        "color": product.color,
        "size": product.size,
        # Worded as the rule says it, so that the rule is found by the same words.
        "returns": f"as {product.return_class}",
    }


def coupon_info(product: Product) -> dict[str, Any]:
    """The result of `find_coupon`."""
    if product.coupon is None:
        return {"code": None}
    return {"code": product.coupon.code, "price_after": json_number(product.coupon.price_after)}


def canonical_operation(operation: str, arguments: Mapping[str, Any]) -> str:
    """One text for calls that ask the same: keys sorted, the case and outer spaces of text ignored."""
    same = {
        key: value.strip().casefold() if isinstance(value, str) else value for key, value in arguments.items()
    }
    return f"{operation} {_ENCODER.encode(same)}"


def _argument_problem(signature: Mapping[str, type], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong, without names: what an argument is called to the model is the harness's business."""
    missing = [name for name in signature if name not in arguments]
    if missing:
        return "an argument is missing"
    unknown = [name for name in arguments if name not in signature]
    if unknown:
        return "an argument is unknown"
    for name, kind in signature.items():
        value = arguments[name]
        # bool is an int in Python, but not in JSON Schema.
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"an argument must be {'an integer' if kind is int else 'a string'}"
    return None


def _not_found(message: str) -> ToolOutcome:
    return ToolOutcome("error", message, NOT_FOUND)
