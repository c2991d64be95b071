"""The synthetic catalogue: seeded, closed vocabularies, splits that do not overlap."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from hat.domains.live_shop import vocabulary as words
from hat.domains.live_shop.catalogue import build_catalogue
from hat.domains.live_shop.gold import INTENTS
from hat.domains.live_shop.phrasings import banks
from hat.domains.live_shop.sessions import sample_session, split_sessions
from hat.domains.live_shop.splits import divide, divide_by_share


def test_the_same_seed_gives_the_same_catalogue_and_another_seed_another() -> None:
    build_catalogue.cache_clear()
    first = build_catalogue(7)
    build_catalogue.cache_clear()
    assert build_catalogue(7) == first
    assert build_catalogue(8) != first


def test_links_names_and_prices_are_unique() -> None:
    products = build_catalogue().products
    assert sorted(products) == list(range(1, 301))
    for key in ("name", "price"):
        assert len({getattr(product, key) for product in products.values()}) == 300


def test_prices_have_at_most_one_decimal_and_coupons_lower_them() -> None:
    for product in build_catalogue().products.values():
        assert re.fullmatch(r"[1-9][0-9]*(\.[1-9])?", product.price)
        if product.coupon:
            assert 0 < float(product.coupon.price_after) < float(product.price)


def test_some_names_are_chinese_some_stock_is_zero_some_items_are_final_sale() -> None:
    products = build_catalogue().products.values()
    assert sum(not p.name.isascii() for p in products) == 18
    assert any(p.stock == 0 for p in products)
    assert any(p.final_sale for p in products)
    assert any(p.coupon is None for p in products)


def test_no_word_of_a_name_is_also_a_material_a_color_a_region_or_a_host() -> None:
    named = {word.casefold() for word in words.FIRST_WORDS}
    named |= {noun.casefold() for nouns in words.NOUNS.values() for noun in nouns}
    values = {
        *words.COLORS,
        *words.REGIONS,
        *words.HOSTS,
        *(m for ms in words.MATERIALS.values() for m in ms),
    }
    assert named.isdisjoint({part.casefold() for value in values for part in value.split()})


def test_splits_of_links_regions_and_hosts_are_disjoint_and_complete() -> None:
    catalogue = build_catalogue()
    for parts, count in (
        (catalogue.links, 300),
        (catalogue.regions, len(words.REGIONS)),
        (catalogue.hosts, 24),
    ):
        for one, other in combinations(words.SPLITS, 2):
            assert not set(parts[one]) & set(parts[other])
        assert sum(len(parts[split]) for split in words.SPLITS) == count


def test_every_intent_has_enough_phrasings_in_every_split_and_none_in_two() -> None:
    counted = {intent: dict.fromkeys(words.SPLITS, 0) for intent in INTENTS if intent != "missing_link"}
    for name, parts in banks().items():
        assert len({text.casefold() for split in words.SPLITS for text in parts[split]}) == sum(
            map(len, parts.values())
        )
        if name != "openers":
            for split in words.SPLITS:
                counted["detail" if name.startswith("detail_") else name][split] += len(parts[split])
    for intent, parts in counted.items():
        assert parts["train"] >= 10, intent
        assert min(parts["dev"], parts["test"]) >= 6, intent


def test_dividing_depends_on_the_item_and_not_on_its_place() -> None:
    items = [f"item {number}" for number in range(50)]
    forward = divide(items, salt="s", dev=10, test=10)
    backward = divide(items[::-1], salt="s", dev=10, test=10)
    assert {split: set(part) for split, part in forward.items()} == {s: set(p) for s, p in backward.items()}
    assert [len(forward[split]) for split in words.SPLITS] == [30, 10, 10]


def test_shipping_is_known_for_every_link_and_region_and_differs_between_links() -> None:
    catalogue = build_catalogue()
    quotes = {catalogue.shipping(link, "Hangzhou") for link in catalogue.products}
    assert None not in quotes
    assert len(quotes) > 20
    assert catalogue.shipping(3, "hangzhou ") == catalogue.shipping(3, "Hangzhou")
    assert catalogue.shipping(3, "Atlantis") is None
    assert catalogue.shipping(301, "Hangzhou") is None


@pytest.mark.parametrize("split", words.SPLITS)
def test_sessions_stay_in_their_split(split: str) -> None:
    catalogue = build_catalogue()
    sessions = split_sessions(catalogue, split)
    assert len(sessions) == 8
    for session in sessions:
        assert session["host"] in catalogue.hosts[split]
        assert session["showing"] in catalogue.links[split]
        assert re.fullmatch(r"(1[89]|2[0-3]):[0-5]\d", str(session["ends_at"]))
    assert sample_session(catalogue, 3, split) == sessions[3]


def test_finding_by_name_ignores_case_and_needs_one_answer() -> None:
    catalogue = build_catalogue()
    product = catalogue.products[3]
    assert catalogue.find(product.name) == product
    hoodie = next(p for p in catalogue.products.values() if p.name.endswith("Hoodie"))
    assert catalogue.find(f" {hoodie.name.upper()} ") == hoodie
    assert catalogue.find("hoodie") is None
    assert catalogue.find("") is None
    assert catalogue.find("flying carpet") is None


def test_dividing_by_share_never_moves_an_item_when_the_list_grows() -> None:
    items = [f"phrase {number}" for number in range(400)]
    parts = divide_by_share(items, salt="s", held_out=0.2)
    grown = divide_by_share([*items, *(f"later {number}" for number in range(400))], salt="s", held_out=0.2)
    for split in words.SPLITS:
        assert set(parts[split]) <= set(grown[split])
    assert sorted(items) == sorted(item for split in words.SPLITS for item in parts[split])
    assert 50 <= len(parts["dev"]) <= 110
    assert 50 <= len(parts["test"]) <= 110
