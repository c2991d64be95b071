"""The simulated tools: results, errors for unknown links and wrong types, and never an exception."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.domains.live_shop.catalogue import build_catalogue
from hat.domains.live_shop.operations import SIGNATURES, canonical_operation, execute_operation

CATALOGUE = build_catalogue()


def test_product_info_gives_the_details_in_a_fixed_order() -> None:
    value = execute_operation(CATALOGUE, "product_info", {"link_id": 44}).value
    assert json.dumps(value) == (
        '{"name": "Luna Hoodie", "price": 20, "material": "fleece", "color": "grey", "size": "S", '
        '"returns": "as clothing"}'
    )


def test_every_price_prints_as_the_catalogue_has_it() -> None:
    for link, product in CATALOGUE.products.items():
        value = execute_operation(CATALOGUE, "product_info", {"link_id": link}).value
        assert json.dumps(value["price"]) == product.price


def test_a_name_is_searched_and_an_unknown_one_is_not_found() -> None:
    product = CATALOGUE.products[297]
    assert execute_operation(CATALOGUE, "search_products", {"query": product.name}).value == {"link_id": 297}
    assert execute_operation(CATALOGUE, "search_products", {"query": "moon rocket"}).code == "not_found"


def test_stock_coupon_and_shipping_give_what_the_catalogue_has() -> None:
    with_coupon = next(p for p in CATALOGUE.products.values() if p.coupon)
    without = next(p for p in CATALOGUE.products.values() if not p.coupon)
    assert execute_operation(CATALOGUE, "find_coupon", {"link_id": without.link_id}).value == {"code": None}
    found = execute_operation(CATALOGUE, "find_coupon", {"link_id": with_coupon.link_id}).value
    assert found["code"] == with_coupon.coupon.code
    assert json.dumps(found["price_after"]) == with_coupon.coupon.price_after
    assert execute_operation(CATALOGUE, "check_stock", {"link_id": 44}).value == {"in_stock": 291}
    quote = execute_operation(CATALOGUE, "shipping_quote", {"link_id": 44, "region": "Tibet"}).value
    assert list(quote) == ["days", "fee"]


@pytest.mark.parametrize("operation", ["product_info", "check_stock", "find_coupon", "shipping_quote"])
def test_an_unknown_link_is_not_found(operation: str) -> None:
    arguments = {"link_id": 512, "region": "Tibet"} if operation == "shipping_quote" else {"link_id": 512}
    outcome = execute_operation(CATALOGUE, operation, arguments)
    assert (outcome.status, outcome.code) == ("error", "not_found")


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("product_info", {"link_id": "3"}),
        ("product_info", {"link_id": 3.0}),
        ("product_info", {"link_id": True}),
        ("product_info", {"link_id": None}),
        ("product_info", {}),
        ("product_info", {"link_id": 3, "color": "red"}),
        ("search_products", {"query": 3}),
        ("shipping_quote", {"link_id": 3}),
        ("shipping_quote", {"link_id": 3, "region": ["Tibet"]}),
    ],
)
def test_wrong_arguments_are_an_error(operation: str, arguments: dict[str, object]) -> None:
    outcome = execute_operation(CATALOGUE, operation, arguments)
    assert (outcome.status, outcome.code) == ("error", "invalid_arguments")


def test_an_unknown_operation_is_an_error() -> None:
    assert execute_operation(CATALOGUE, "drop_table", {}).code == "unknown_operation"


@given(
    st.sampled_from(sorted(SIGNATURES)),
    st.dictionaries(
        st.sampled_from(["link_id", "query", "region", "x"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()),
    ),
)
def test_no_arguments_make_an_operation_raise(operation: str, arguments: dict[str, object]) -> None:
    outcome = execute_operation(CATALOGUE, operation, arguments)
    assert outcome.status in ("ok", "error")
    assert (outcome.status == "error") == bool(outcome.code)


def test_calls_that_ask_the_same_are_the_same() -> None:
    one = canonical_operation("shipping_quote", {"link_id": 3, "region": "Tibet"})
    assert one == canonical_operation("shipping_quote", {"region": " tibet", "link_id": 3})
    assert one != canonical_operation("shipping_quote", {"region": "Tibet", "link_id": "3"})
