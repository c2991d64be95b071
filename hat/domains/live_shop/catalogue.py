"""The synthetic, seeded product catalogue of the simulated live room (no real product or price)."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hat.domains.live_shop import vocabulary as words
from hat.domains.live_shop.splits import divide

CATALOGUE_SEED = 7
PRODUCTS = 300
FINAL_SALE = "final sale"
FIRST_MISSING_LINK, LAST_MISSING_LINK = 301, 999


@dataclass(frozen=True)
class Coupon:
    """A coupon code and the price in yuan after it, as decimal text."""

    code: str
    price_after: str


@dataclass(frozen=True)
class Product:
    """One synthetic product; `price` is decimal text in yuan with at most one decimal place."""

    link_id: int
    name: str
    category: str
    price: str
    material: str
    color: str
    size: str
    stock: int
    coupon: Coupon | None
    final_sale: bool

    @property
    def subject(self) -> str:
        """How facts name this product: "link 12"."""
        return f"link {self.link_id}"

    @property
    def return_class(self) -> str:
        """What the shop's return rule goes by: the category, or "final sale"."""
        return FINAL_SALE if self.final_sale else self.category


@dataclass(frozen=True)
class Shipping:
    """Days until delivery and the fee in whole yuan (0 is free)."""

    days: int
    fee: int


@dataclass(frozen=True)
class Catalogue:
    """All products by link id (1..300), and the split every product, region and host belongs to."""

    products: dict[int, Product]
    links: dict[str, list[int]]
    regions: dict[str, list[str]]
    hosts: dict[str, list[str]]
    seed: int

    def __hash__(self) -> int:
        # Dictionaries have no hash; with this one, what is read in a reply can be remembered.
        return hash(self.seed)

    @cached_property
    def link_of_name(self) -> dict[str, int]:
        """Link id by case-folded name."""
        return {product.name.casefold(): product.link_id for product in self.products.values()}

    @cached_property
    def name_pattern(self) -> re.Pattern[str]:
        """Any product's name in a text, case ignored; the longest where several fit."""
        names = sorted(self.link_of_name, key=len, reverse=True)
        # Chinese text has no spaces, so a word boundary means nothing there.
        bounded = [rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name) for name in names]
        return re.compile("|".join(bounded), re.I)

    def product(self, link_id: int) -> Product | None:
        return self.products.get(link_id)

    def find(self, query: str) -> Product | None:
        """The product called `query` (case ignored), or the only one whose name holds every word of it."""
        wanted = " ".join(query.casefold().split())
        if not wanted:
            return None
        if wanted in self.link_of_name:
            return self.products[self.link_of_name[wanted]]
        parts = set(wanted.split())
        near = [p for p in self.products.values() if parts <= set(p.name.casefold().split())]
        return near[0] if len(near) == 1 else None

    def shipping(self, link_id: int, region: str) -> Shipping | None:
        """The quote for a known link and region, case ignored; it differs by product, so it must be asked."""
        known = {name.casefold(): name for name in words.REGIONS}
        name = known.get(region.strip().casefold())
        if name is None or link_id not in self.products:
            return None
        draw = random.Random(f"{self.seed}:shipping:{link_id}:{name}")
        return Shipping(days=draw.randint(1, 9), fee=0 if draw.random() < 0.25 else draw.randint(4, 25))


@lru_cache(maxsize=4)
def build_catalogue(seed: int = CATALOGUE_SEED) -> Catalogue:
    """Build the catalogue of `seed`: 300 products, prices and names unique, 18 names in Chinese."""
    draw = random.Random(f"{seed}:catalogue")
    named = [(name, category, material) for name, category, material in words.CHINESE_NAMES]
    pairs = [
        (f"{first} {noun}", category)
        for category in words.CATEGORIES
        for noun in words.NOUNS[category]
        for first in words.FIRST_WORDS
    ]
    for name, category in draw.sample(pairs, PRODUCTS - len(named)):
        named.append((name, category, draw.choice(words.MATERIALS[category])))
    draw.shuffle(named)
    prices = _prices(draw, len(named))
    products = {
        link: _product(draw, link, name, category, material, price)
        for link, ((name, category, material), price) in enumerate(zip(named, prices, strict=True), start=1)
    }
    regions = divide(words.DIVIDED_REGIONS, salt=f"{seed}:regions", dev=12, test=14)
    regions["train"] += words.TRAINING_REGIONS
    return Catalogue(
        products=products,
        links=divide(sorted(products), salt=f"{seed}:links", dev=60, test=60),
        regions=regions,
        hosts=divide(words.HOSTS, salt=f"{seed}:hosts", dev=6, test=6),
        seed=seed,
    )


def decimal_text(tenths: int) -> str:
    """Tenths of a yuan as the shortest decimal text: 599 -> "59.9", 590 -> "59"."""
    return f"{tenths // 10}" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"


def json_number(text: str) -> int | float:
    """Decimal text as the JSON number that prints the same."""
    return float(text) if "." in text else int(text)


def _prices(draw: random.Random, count: int) -> list[str]:
    whole = [10 * yuan for yuan in range(12, 400)]
    tenths = [value for value in range(129, 3990) if value % 10]
    chosen = draw.sample(whole, count // 3) + draw.sample(tenths, count - count // 3)
    draw.shuffle(chosen)
    return [decimal_text(value) for value in chosen]


def _product(draw: random.Random, link: int, name: str, category: str, material: str, price: str) -> Product:
    coupon = None
    tenths = round(10 * float(price))
    amounts = [amount for amount in range(3, 61) if 20 * amount <= tenths]
    if amounts and draw.random() < 0.65:
        amount = draw.choice(amounts)
        code = f"{draw.choice(words.COUPON_PREFIXES)}{amount}"
        coupon = Coupon(code, decimal_text(tenths - 10 * amount))
    return Product(
        link_id=link,
        name=name,
        category=category,
        price=price,
        material=material,
        color=draw.choice(words.COLORS),
        size=draw.choice(words.SIZES[category]),
        stock=0 if draw.random() < 0.25 else draw.randint(1, 480),
        coupon=coupon,
        final_sale=draw.random() < 0.2,
    )
