"""The price check: money in a reply must have come from a tool result of this episode."""

from __future__ import annotations

from pathlib import Path

import pytest

from hat.agent.calls import Call
from hat.agent.checks import CheckContext
from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.domains.live_shop.checks import price_claims_match_results
from hat.harness.registry import Registry
from hat.trajectories.record import Observation, Turn

SHOP = get_domain("live_shop")
HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
STATE = HarnessState.original(HARNESS)
TASK = SHOP.sample_tasks("train", 1, 1)[0]
SEEN = Turn(
    "",
    (Call("get_product_info", {"link_id": 3}),),
    (
        Observation(
            "result", {"name": "Room 88 Lamp", "price": 59.9, "final_sale": True, "more": [{"fee": 8}]}
        ),
    ),
)


def problem(reply: str, *turns: Turn) -> dict[str, str] | None:
    found = price_claims_match_results(CheckContext(STATE, TASK, turns, reply=reply))
    return dict(found) if found is not None else None


@pytest.mark.parametrize(
    "reply",
    [
        "Link 3 costs 59.9 yuan.",
        "Link 3 costs ¥59.90.",
        "The fee is 8 yuan.",
        "Link 512 has 12 left and takes 3 days.",
        "The live ends at 22:30.",
        "Sorry, I cannot answer that here.",
        "Use LIVE20.",
    ],
)
def test_a_reply_with_amounts_from_results_or_with_none_passes(reply: str) -> None:
    assert problem(reply, SEEN) is None


@pytest.mark.parametrize(
    ("reply", "claim"),
    [
        ("Link 3 costs 69.9 yuan.", "69.9 yuan"),
        ("Link 3 costs 59.9 yuan, not 70 yuan.", "70 yuan"),
        ("Link 3 costs 1 yuan.", "1 yuan"),
        ("Link 3 costs 88 yuan.", "88 yuan"),
        ("Link 3 costs 3 yuan.", "3 yuan"),
    ],
)
def test_an_amount_that_no_tool_gave_is_named(reply: str, claim: str) -> None:
    assert problem(reply, SEEN) == {"claim": claim}


def test_a_guess_before_any_tool_call_is_blocked() -> None:
    assert problem("Link 3 costs 59.9 yuan.") == {"claim": "59.9 yuan"}


def test_an_error_is_no_source_of_prices() -> None:
    failed = Turn("", (Call("get_product_info", {"link_id": 3}),), (Observation("error", "59.9", "timeout"),))
    assert problem("Link 3 costs 59.9 yuan.", failed) == {"claim": "59.9 yuan"}


def test_the_harness_blocks_an_invented_price_and_lets_the_corrected_reply_through() -> None:
    task = SHOP.sample_tasks("train", 1, 1, intents=["price"])[0]
    link = task.slots["link"]
    episode = Episode(STATE, task, SHOP)
    requests = episode.submit(
        f'<tool_call>{{"name": "get_product_info", "arguments": {{"link_id": {link}}}}}</tool_call>'
    )
    episode.observe([SHOP.execute(task, request.operation, request.arguments) for request in requests])
    episode.submit('<tool_call>{"name": "load_skill", "arguments": {"name": "item-qa"}}</tool_call>')
    episode.submit(f"Link {link} costs 1.5 yuan.")
    assert episode.turns[-1].verdict is not None
    assert episode.turns[-1].verdict.check == "price_claims_match_results"
    assert "1.5 yuan" in episode.messages()[-1]["content"]
    episode.submit(f"Link {link} costs {SHOP.catalogue.products[link].price} yuan.")
    assert episode.end == "replied"
