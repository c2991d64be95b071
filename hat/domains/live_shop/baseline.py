"""The regex baseline: a harness-blind policy whose score stands beside every result.

It knows the names of live-shop@1.0.0 by heart, reads no tool list, no skill and no hook message, and finds
values in messages by pattern. Whatever score it reaches needs no language model and no harness.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import Executor, answer_requests

_LINK = re.compile(r"(?:link|links|#|no\.|number)\s*([0-9]+)", re.I)
_NAME = re.compile(r"(?<=[a-z,] )([A-Z][a-z]+ [A-Z][a-z]+)|([\u4e00-\u9fff]+)")
_REGION = re.compile(r"\b(?:to|in)\s+(?:my mum in\s+)?([A-Z][a-z]+)|^([A-Z][a-z]+) here")
_SHOWING_IN_PROMPT = re.compile(r"[Ss]howing\D{0,20}([0-9]+)")
_CLOCK_IN_PROMPT = re.compile(r"\b([0-9]{2}:[0-9]{2})\b")
_HOST_IN_PROMPT = re.compile(r"[Hh]ost\W+([A-Z][a-z]+ [A-Z][a-z]+)")
_RETURN_DAYS = {"clothing": 7, "home": 30, "beauty": 14}

Script = Generator[str, list[str], None]
"""Texts of the assistant's turns; receives the tool messages that followed each."""


class RegexBaseline:
    """Keyword rules and memorised names of live-shop@1.0.0."""

    name = "regex-baseline"

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end, one after the other."""
        for index, episode in enumerate(episodes):
            _play(episode, execute)
            on_done(index)


def _play(episode: Episode, execute: Executor) -> None:
    system, user = (str(message["content"]) for message in episode.messages()[:2])
    script = _script(user, system)
    text = next(script)
    while True:
        known = len(episode.messages())
        answer_requests(episode, episode.submit(text), execute)
        if episode.done:
            return
        results = [str(m["content"]) for m in episode.messages()[known:] if m["role"] == "tool"]
        text = script.send(results)


def _script(question: str, system: str) -> Script:
    links = [int(link) for link in _LINK.findall(question)]
    skill, reply = "polite-decline", "Sorry, I cannot answer that here."
    asked = question.casefold()
    if len(links) > 1:
        a, b = links[:2]
        first, second = (_number(result, "price") for result in (yield _product(a) + _product(b)))
        skill, reply = "item-qa", f"Link {a} costs {first} yuan and link {b} costs {second} yuan."
    elif links:
        skill, reply = yield from _about_link(asked, question, links[0])
    elif re.search(r"\bend|finish|until|wrap up|close|over\b", asked):
        skill, reply = "room-info", f"The live ends at {_first(_CLOCK_IN_PROMPT, system)}."
    elif re.search(r"\bhost|your name|who are you|presenter", asked):
        skill, reply = "room-info", f"The host is {_first(_HOST_IN_PROMPT, system)}."
    elif re.search(r"this one|showing|screen|in your hand|current", asked):
        link = int(_first(_SHOWING_IN_PROMPT, system) or 0)
        (result,) = yield _product(link)
        skill, reply = "item-qa", f"Link {link} costs {_number(result, 'price')} yuan."
    elif (name := _NAME.search(question)) and re.search(r"price|cost|how much|expensive", asked):
        (found,) = yield _call("search_products", query=name.group(0))
        link = int(_number(found, "link_id") or 0)
        (result,) = yield _product(link)
        skill, reply = "name-search", f"Link {link} costs {_number(result, 'price')} yuan."
    yield _call("load_skill", name=skill)
    while True:
        yield reply


def _about_link(asked: str, question: str, link: int) -> Generator[str, list[str], tuple[str, str]]:
    region = _REGION.search(question)
    declined = ("polite-decline", "Sorry, I cannot answer that here.")
    if re.search(r"return|refund|back", asked):
        (result,) = yield _product(link)
        days = _RETURN_DAYS.get(_text(result, "returns").removeprefix("as "))
        reply = (
            f"Link {link} cannot be returned."
            if days is None
            else f"Link {link} can be returned within {days} days."
        )
        return declined if "error" in result else ("after-sales", reply)
    if re.search(r"ship|deliver|postage|arrive", asked) or region:
        place = next((name for name in region.groups() if name), "") if region else "Hangzhou"
        (result,) = yield _call("get_shipping", link_id=link, region=place)
        fee = _number(result, "fee")
        cost = "free shipping" if fee == "0" else f"fee {fee} yuan"
        reply = f"Link {link} takes {_number(result, 'days')} days to {place}, {cost}."
        return declined if "error" in result else ("delivery", reply)
    if re.search(r"coupon|code|voucher|discount|deal", asked):
        (result,) = yield _call("find_coupon", link_id=link)
        code, after = _text(result, "code"), _number(result, "price_after")
        reply = (
            f"Link {link} costs {after} yuan with coupon {code}." if code else f"Link {link} has no coupon."
        )
        return declined if "error" in result else ("deals", reply)
    if re.search(r"stock|left|available|sold out|still", asked):
        (result,) = yield _call("check_stock", link_id=link)
        left = _number(result, "in_stock")
        reply = f"Link {link} is sold out." if left == "0" else f"Link {link} has {left} left."
        return declined if "error" in result else ("availability", reply)
    (result,) = yield _product(link)
    if "error" in result:
        return declined
    for key, words in (("material", "material|made"), ("color", "colou?r"), ("size", "size|how big")):
        if re.search(words, asked):
            return "item-qa", f"Link {link} {'size' if key == 'size' else 'is'} {_text(result, key)}."
    return "item-qa", f"Link {link} costs {_number(result, 'price')} yuan."


def _call(tool: str, /, **arguments: int | str) -> str:
    return render_call(Call(tool, arguments))


def _product(link: int) -> str:
    return _call("get_product_info", link_id=link)


def _number(result: str, key: str) -> str:
    return _first(re.compile(rf'"{key}": ([0-9.]+)'), result)


def _text(result: str, key: str) -> str:
    return _first(re.compile(rf'"{key}": "([^"]*)"'), result)


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""
