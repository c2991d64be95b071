"""Scores: exact facts, half marks, rational tool use, the right skill, and what must not pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hat.agent.calls import Call
from hat.augment.state import HarnessState
from hat.domains.base import Scores, Task, get_domain
from hat.domains.live_shop.gold import price_fact
from hat.domains.live_shop.tasks import make_task
from hat.harness.registry import Registry
from hat.trajectories.record import Observation, StateReference, Trajectory, Turn

SHOP = get_domain("live_shop")
CATALOGUE = SHOP.catalogue
HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
STATE = HarnessState.original(HARNESS)
SESSION = {"host": "Lin Yue", "ends_at": "22:30", "showing": 57}

TOOL = {"product_info": "get_product_info", "check_stock": "check_stock", "find_coupon": "find_coupon",
        "shipping_quote": "get_shipping", "search_products": "search_products"}  # fmt: skip


def task(intent: str, **slots: Any) -> Task:
    return make_task(
        CATALOGUE, id="t", split="test", intent=intent, question="?", slots=slots, session=SESSION
    )


def called(operation: str, fault: str = "", **arguments: Any) -> Turn:
    outcome = SHOP.execute(task("host"), operation, arguments)
    kind = "result" if outcome.status == "ok" else "error"
    observation = Observation("error", "", fault) if fault else Observation(kind, outcome.value, outcome.code)
    return Turn("", (Call(TOOL[operation], arguments),), (observation,))


def loaded(skill: str) -> Turn:
    return Turn("", (Call("load_skill", {"name": skill}),), (Observation("skill", skill),))


def scored(of: Task, reply: str, *turns: Turn, end: str = "replied") -> Scores:
    trajectory = Trajectory(
        id="x", task=of, harness=HARNESS.name, version=HARNESS.version, base_digest=HARNESS.digest,
        state=StateReference(0, "test", (), STATE.digest), policy="test",
        turns=(*turns, Turn(reply)), end=end, reply=reply,
    )  # fmt: skip
    return SHOP.score(of, trajectory, HARNESS)


PRICE = task("price", link=44)
INFO = called("product_info", link_id=44)


def test_the_right_way_gets_full_marks() -> None:
    scores = scored(PRICE, "Link 44 costs 20 yuan.", INFO, loaded("item-qa"))
    assert scores == Scores(1, 1.0, 1.0, 1.0, skill_loaded=True, refused=False, parsed=True)


@pytest.mark.parametrize(
    "reply",
    [
        "It is 20 yuan.",
        "¥20",
        "Luna Hoodie is 20 yuan",
        "Hi! Link 44 is priced at 20.0 RMB today.",
    ],
)
def test_other_words_for_the_same_fact_are_accurate(reply: str) -> None:
    assert scored(PRICE, reply, INFO, loaded("item-qa")).accuracy == 1


@pytest.mark.parametrize(
    "reply",
    [
        "Link 44 costs 21 yuan.",
        "Link 45 costs 20 yuan.",
        "Link 44 costs 20 or 30 yuan.",
        "Link 44 costs about 20 yuan.",
        "Link 44 costs 20 yuan, link 45 costs 193 yuan, link 47 costs 35.6 yuan.",
        "Link 44 costs 20 yuan with coupon LIVE8.",
        "Sorry, I cannot answer that here.",
        "Sorry, I cannot answer that here, but link 44 costs 20 yuan.",
        "Is it 20 yuan?",
        "I will check the price for you.",
        "Link 44 is made of fleece.",
    ],
)
def test_a_wrong_hedged_or_listing_reply_is_not_accurate(reply: str) -> None:
    assert scored(PRICE, reply, INFO, loaded("item-qa")).accuracy == 0


def test_listing_every_price_of_the_shop_fails_every_price_question() -> None:
    reply = " ".join(f"Link {link} costs {p.price} yuan." for link, p in CATALOGUE.products.items())
    for link in (1, 44, 300):
        scores = scored(
            task("price", link=link), reply, called("product_info", link_id=link), loaded("item-qa")
        )
        assert (scores.accuracy, scores.effectiveness) == (0, 0.0)


def test_swapping_the_two_prices_of_a_comparison_fails() -> None:
    of = task("compare", a=44, b=45)
    both = (called("product_info", link_id=44), called("product_info", link_id=45), loaded("item-qa"))
    right = scored(of, "Link 44 costs 20 yuan and link 45 costs 193 yuan.", *both)
    swapped = scored(of, "Link 44 costs 193 yuan and link 45 costs 20 yuan.", *both)
    assert (right.accuracy, right.effectiveness) == (1, 1.0)
    assert (swapped.accuracy, swapped.effectiveness) == (0, 0.0)


def test_a_comparison_may_say_which_is_cheaper_if_that_is_true() -> None:
    of = task("compare", a=44, b=45)
    prices = "Link 44 costs 20 yuan and link 45 costs 193 yuan"
    assert scored(of, f"{prices}, so link 44 is cheaper.").accuracy == 1
    assert scored(of, f"{prices}, so link 45 is cheaper.").accuracy == 0
    assert scored(of, f"{prices}. Link 44 is 173 yuan cheaper.").accuracy == 1
    assert scored(of, f"{prices}. Link 44 is 100 yuan cheaper.").accuracy == 0


def test_denying_a_wrong_value_beside_the_right_one_is_accurate() -> None:
    of = task("detail", link=146, attribute="material")
    assert scored(of, "Link 146 is bamboo, not glass.").accuracy == 1
    assert scored(of, "Link 146 is glass, not bamboo.").accuracy == 0


def test_a_false_region_spoils_a_shipping_reply() -> None:
    of = task("shipping", link=44, region="Tibet")
    quote = CATALOGUE.shipping(44, "Tibet")
    fee = "free shipping" if quote.fee == 0 else f"fee {quote.fee} yuan"
    assert scored(of, f"Link 44 takes {quote.days} days to Tibet, {fee}.").accuracy == 1
    assert scored(of, f"Link 44 takes {quote.days} days to Hangzhou, {fee}.").accuracy == 0


def test_true_extras_from_tool_results_get_half_marks_and_unseen_ones_none() -> None:
    reply = "Link 44 costs 20 yuan and is made of fleece."
    assert scored(PRICE, reply, INFO, loaded("item-qa")).effectiveness == 0.5
    assert scored(PRICE, reply, loaded("item-qa")).effectiveness == 0.0
    false = "Link 44 costs 20 yuan and is made of silk."
    assert scored(PRICE, false, INFO, loaded("item-qa")).effectiveness == 0.0


def test_part_of_the_facts_and_nothing_else_gets_half_marks() -> None:
    of = task("coupon", link=44)
    found = called("find_coupon", link_id=44)
    assert scored(of, "Use coupon LIVE8.", found, loaded("deals")).effectiveness == 0.5
    assert scored(of, "Use coupon LIVE8, it is 11 yuan then.", found, loaded("deals")).effectiveness == 0.0


@pytest.mark.parametrize(
    "reply",
    ["- Link 44 costs 20 yuan.", "**Link 44** costs 20 yuan.", "Link 44 costs 20 yuan." + " Thanks!" * 40],
)
def test_accurate_but_out_of_format_or_too_long_is_half_effective(reply: str) -> None:
    scores = scored(PRICE, reply, INFO, loaded("item-qa"))
    assert (scores.accuracy, scores.effectiveness) == (1, 0.5)


@pytest.mark.parametrize("end", ["empty_reply", "retries_exhausted", "turns_exhausted", "engine_error"])
def test_an_episode_without_an_accepted_reply_scores_nothing_for_it(end: str) -> None:
    scores = scored(PRICE, "Link 44 costs 20 yuan.", INFO, loaded("item-qa"), end=end)
    assert (scores.accuracy, scores.effectiveness, scores.refused) == (0, 0.0, False)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((), 0.0),
        ((INFO,), 1.0),
        ((INFO, INFO), 1 / 2),
        ((INFO, called("check_stock", link_id=44)), 1 / 2),
        ((called("product_info", link_id=45),), 0.0),
        ((called("product_info", fault="timeout", link_id=44), INFO), 1.0),
        ((called("product_info", fault="timeout", link_id=44), INFO, INFO), 1 / 2),
        (
            (called("product_info", fault="timeout", link_id=44), called("check_stock", link_id=44), INFO),
            1 / 2,
        ),
    ],
)
def test_tool_rationality_counts_needed_over_needed_or_made(turns: tuple[Turn, ...], expected: float) -> None:
    assert scored(PRICE, "Link 44 costs 20 yuan.", *turns).tool_rationality == expected


def test_asking_again_after_a_plain_not_found_is_an_extra_call() -> None:
    missing = task("missing_link", link=512, asked="price")
    not_found = called("product_info", link_id=512)
    assert scored(missing, "Sorry, I cannot answer that here.", not_found).tool_rationality == 1.0
    assert (
        scored(missing, "Sorry, I cannot answer that here.", not_found, not_found).tool_rationality == 1 / 2
    )


def test_calling_a_tool_nobody_has_is_an_extra_call() -> None:
    unknown = Turn("", (Call("get_weather", {}),), (Observation("unknown_name", "get_weather", "tool"),))
    assert scored(PRICE, "x", INFO, unknown).tool_rationality == 1 / 2


def test_no_call_needed_and_none_made_is_rational() -> None:
    of = task("off_topic")
    assert scored(of, "Sorry, I cannot answer that here.").tool_rationality == 1.0
    assert scored(of, "Sorry, I cannot answer that here.", INFO).tool_rationality == 0.0


@pytest.mark.parametrize(
    ("skills", "selection", "any_loaded"),
    [
        (["item-qa"], 1.0, True),
        (["item-qa", "item-qa"], 1.0, True),
        (["item-qa", "deals"], 0.5, True),
        (["deals"], 0.0, True),
        ([], 0.0, False),
        (["compare-items", "item-qa"], 0.5, True),
        (["compare-items"], 0.0, False),
    ],
)
def test_skill_selection_wants_exactly_the_right_reply_skill(
    skills: list[str], selection: float, any_loaded: bool
) -> None:
    scores = scored(PRICE, "Link 44 costs 20 yuan.", INFO, *map(loaded, skills))
    assert (scores.skill_selection, scores.skill_loaded) == (selection, any_loaded)


def test_the_strategy_skill_is_welcome_where_it_applies() -> None:
    of = task("compare", a=44, b=45)
    assert scored(of, "x", loaded("compare-items"), loaded("item-qa")).skill_selection == 1.0
    assert scored(of, "x", loaded("item-qa")).skill_selection == 1.0


def test_declining_is_seen_and_right_for_what_cannot_be_answered() -> None:
    missing = task("missing_link", link=512, asked="price")
    declined = scored(missing, "Sorry, link 512 is not in this room.", called("product_info", link_id=512))
    assert (declined.accuracy, declined.refused, declined.tool_rationality) == (1, True, 1.0)
    invented = scored(missing, "Link 512 costs 20 yuan.", called("product_info", link_id=512))
    assert (invented.accuracy, invented.refused) == (0, False)
    assert scored(PRICE, "Sorry, I cannot answer that here.", INFO).refused


def test_an_unreadable_turn_is_counted() -> None:
    assert not scored(PRICE, "Link 44 costs 20 yuan.", Turn("", raw="<tool_call>{")).parsed


def test_prices_of_other_products_never_pass_for_a_link() -> None:
    for other in list(CATALOGUE.products.values())[:60]:
        if other.link_id != 44:
            reply = f"Link 44 costs {other.price} yuan."
            assert scored(PRICE, reply, INFO, loaded("item-qa")).accuracy == 0
    assert price_fact(CATALOGUE.products[44]) in PRICE.facts
