"""Samples synthetic viewers' questions with checkable gold from one split's products and phrasings."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hat.domains.base import Split, Task
from hat.domains.live_shop.catalogue import FIRST_MISSING_LINK, LAST_MISSING_LINK, Catalogue
from hat.domains.live_shop.gold import DECLINE_INTENTS, INTENTS, gold_facts, gold_operations
from hat.domains.live_shop.phrasings import banks
from hat.domains.live_shop.sessions import split_sessions
from hat.domains.live_shop.vocabulary import ASKED_DETAILS, SPLITS
from hat.errors import BadInput

OPENER_SHARE = 0.3
"""Share of questions that begin with a greeting or the like."""
ATTEMPTS = 60
"""Draws of one intent before its questions count as used up."""


def sample_tasks(
    catalogue: Catalogue,
    split: Split,
    count: int,
    seed: int,
    intents: Sequence[str] | None = None,
    session: Mapping[str, str | int] | None = None,
) -> list[Task]:
    """Sample `count` different tasks, the intents as even as possible and in shuffled order.

    The same arguments give the same tasks; an intent named twice in `intents` is drawn twice as often. Without
    `session` each task gets one of the split's few sessions.

    Raises:
        BadInput: an unknown split or intent, or no more different questions to ask.
    """
    wanted = _checked(split, intents)
    draw = random.Random(f"{catalogue.seed}:tasks:{split}:{seed}")
    sessions = [dict(session)] if session is not None else split_sessions(catalogue, split)
    seen: set[str] = set()
    open_intents: list[str] = []
    tasks: list[Task] = []
    exhausted: set[str] = set()
    while len(tasks) < count:
        if not open_intents:
            open_intents = [intent for intent in wanted if intent not in exhausted]
            draw.shuffle(open_intents)
            if not open_intents:
                raise BadInput(
                    f"only {len(tasks)} different tasks of {count} can be made",
                    where=f"live_shop, split {split}",
                    mend="Ask for fewer tasks, more intents or more sessions.",
                )
        intent = open_intents.pop()
        task = _fresh_task(catalogue, split, intent, draw, sessions, seen, f"{split}-{seed}-{len(tasks):04d}")
        if task is None:
            exhausted.add(intent)
        else:
            tasks.append(task)
    return tasks


def make_task(
    catalogue: Catalogue,
    *,
    id: str,
    split: Split,
    intent: str,
    question: str,
    slots: Mapping[str, Any],
    session: Mapping[str, str | int],
    source: str = "generated",
) -> Task:
    """A task whose gold follows from intent, slots, session and catalogue."""
    return Task(
        id=id,
        split=split,
        intent=intent,
        question=question,
        session=dict(session),
        slots=dict(slots),
        operations=gold_operations(intent, slots, session, catalogue),
        facts=gold_facts(intent, slots, session, catalogue),
        answerable=intent not in DECLINE_INTENTS,
        language="en" if question.isascii() else "mixed",
        source="hand-written" if source == "hand-written" else "generated",
    )


def _checked(split: str, intents: Sequence[str] | None) -> list[str]:
    if split not in SPLITS:
        raise BadInput(f"unknown split {split!r}", where="live_shop", mend=f"Known: {', '.join(SPLITS)}.")
    unknown = [intent for intent in intents or () if intent not in INTENTS]
    if unknown or (intents is not None and not intents):
        named = f"unknown intent {unknown[0]!r}" if unknown else "no intent given"
        raise BadInput(named, where="live_shop", mend=f"Known: {', '.join(INTENTS)}.")
    return list(intents or INTENTS)


def _fresh_task(
    catalogue: Catalogue,
    split: Split,
    intent: str,
    draw: random.Random,
    sessions: Sequence[Mapping[str, str | int]],
    seen: set[str],
    id: str,
) -> Task | None:
    for _ in range(ATTEMPTS):
        session = draw.choice(sessions)
        slots = _slots(catalogue, split, intent, draw)
        question = _question(split, intent, slots, draw)
        key = f"{sorted(session.items())} {question}"
        if key not in seen:
            seen.add(key)
            return make_task(
                catalogue,
                id=f"{id}-{intent}",
                split=split,
                intent=intent,
                question=question,
                slots=slots,
                session=session,
            )
    return None


def _slots(catalogue: Catalogue, split: Split, intent: str, draw: random.Random) -> dict[str, Any]:
    links = catalogue.links[split]
    if intent == "compare":
        a, b = draw.sample(links, 2)
        return {"a": a, "b": b}
    if intent in ("ends_at", "host", "showing_price"):
        return {}
    if intent == "off_topic":
        # Some of these name a place, so that a region alone never decides the intent.
        return {"region": draw.choice(catalogue.regions[split])}
    link = draw.choice(links)
    product = catalogue.products[link]
    if intent == "price_by_name":
        return {"name": product.name}
    slots: dict[str, Any] = {"link": link}
    asked = intent
    if intent == "missing_link":
        asked = draw.choice(("price", "detail", "stock", "coupon", "shipping", "returns"))
        slots = {"link": draw.choice(_missing_links(split)), "asked": asked}
    if asked == "detail":
        slots["attribute"] = draw.choice(ASKED_DETAILS[product.category])
    if asked == "shipping":
        slots["region"] = draw.choice(catalogue.regions[split])
    return slots


def _missing_links(split: Split) -> list[int]:
    """Link ids outside the catalogue, divided among the splits by remainder."""
    remainders = {"train": (2, 3, 4), "dev": (1,), "test": (0,)}[split]
    return [link for link in range(FIRST_MISSING_LINK, LAST_MISSING_LINK + 1) if link % 5 in remainders]


def _question(split: Split, intent: str, slots: Mapping[str, Any], draw: random.Random) -> str:
    bank = slots.get("asked", intent)
    if bank == "detail":
        bank = f"detail_{slots['attribute']}"
    question = draw.choice(banks()[bank][split]).format(**slots)
    if draw.random() < OPENER_SHARE:
        question = f"{draw.choice(banks()['openers'][split])} {question}"
    return question
