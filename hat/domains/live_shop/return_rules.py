"""Reads the return rule from the text of a skill, so that the expert follows the harness, not its memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hat.domains.live_shop.catalogue import FINAL_SALE
from hat.domains.live_shop.vocabulary import CATEGORIES
from hat.harness.model import Harness

_SUBJECT = re.compile(rf"\b({'|'.join(CATEGORIES)}|cosmetics|clothes|final[ -]sale)\b", re.I)
_SAME = {"clothes": "clothing", "cosmetics": "beauty", "final-sale": FINAL_SALE}
_DAYS = re.compile(r"([0-9]+)[\s-]*days?", re.I)
_NEVER = re.compile(r"\bno returns?\b|\bnot\b|\bcannot\b|\bcan't\b|\bnever\b|\bnon-?returnable\b", re.I)


def read_return_rules(items: Sequence[str]) -> dict[str, int | None]:
    """Days to return by return class; None where nothing can be returned.

    A statement is cut at full stops and semicolons; each names its subjects and either days or a refusal.
    """
    rules: dict[str, int | None] = {}
    for item in items:
        for statement in re.split(r"[.;\n]", item):
            subjects = [_SAME.get(name.casefold(), name.casefold()) for name in _SUBJECT.findall(statement)]
            days = _DAYS.findall(statement)
            if not subjects or not (days or _NEVER.search(statement)):
                continue
            if len(days) == len(subjects):
                rules.update({subject: int(count) for subject, count in zip(subjects, days, strict=True)})
            else:
                rules.update(dict.fromkeys(subjects, int(days[0]) if days else None))
    return rules


def days_to_return(rules: Mapping[str, int | None], product: Mapping[str, Any]) -> int | None:
    """Days for a product as `product_info` gives it, or None where it cannot be returned.

    Raises:
        KeyError: the rules do not speak of the product's return class.
    """
    return rules[product["returns"].removeprefix("as ")]


def stated_return_rules(harness: Harness) -> dict[str, int | None]:
    """Return rules of the skill for returns and of the prompt, where one may stand as well."""
    prompt = [item for block in harness.blocks for item in block.document.items]
    return read_return_rules([*prompt, *harness.skill(harness.skill_for("returns")).body.items])


def write_return_rules(items: Sequence[str], rules: Mapping[str, int | None]) -> tuple[str, ...]:
    """A skill's items with other return rules, in place of those that state any.

    The rules are written anew, so that no text is searched and replaced; `read_return_rules` gives them back.
    """
    days = [f"as {subject}: {count} days" for subject, count in rules.items() if count is not None]
    never = [f"As {subject}: no returns." for subject, count in rules.items() if count is None]
    written = [f"Returns {', '.join(days)}."] if days else []
    if never:
        written.append(" ".join(never))
    stated = [bool(read_return_rules([item])) for item in items]
    first = stated.index(True) if any(stated) else len(items)
    kept = [(place, item) for place, item in enumerate(items) if not stated[place]]
    before = [item for place, item in kept if place < first]
    return (*before, *written, *(item for place, item in kept if place > first))
