"""What a wording must keep of the text that it replaces; everything here is decided without a model."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from hat.augment.naming import words_of
from hat.augment.variants import misdescribed_skill, misdescribed_tool, written
from hat.augment.wordings.texts import Text
from hat.harness.model import Harness
from hat.harness.symbols import code_spans, rewrite_code_spans

LONGEST_GROWTH = 1.6
"""How many times as long as the text a wording may be; short texts may grow by `LONGEST_EXTRA` characters."""
LONGEST_EXTRA = 30
LONGEST_DESCRIPTION = 1024
"""The Agent Skills format's limit."""

_PLACEHOLDER = re.compile(r"\{\w+\}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NEGATION = re.compile(r"\b(?:not?|never|nothing|none|cannot|without)\b|n't\b", re.I)
_NAME_LIKE = re.compile(r"\b[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+\b")
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a an the of or and to in is it its for by with on at as from this that what which how you",
    )
)


def problems(wording: str, text: Text, others: Sequence[Text], harness: Harness) -> Iterator[str]:
    """Why a wording may not stand for a text; nothing, when it may.

    Args:
        others: the other texts of the same bank, which it must not be nearer to.
    """
    if not wording.strip() or wording != wording.strip() or not wording.isprintable():
        yield "is empty, or has line ends, spaces around it or characters that cannot be printed"
        return
    if wording.casefold() == text.words.casefold():
        yield "is the text itself"
    if "<|" in wording or "|>" in wording or "<tool_call" in wording:
        yield "holds a marker of the chat format"
    if Counter(span for _, span in code_spans(wording)) != Counter(
        span for _, span in code_spans(text.words)
    ):
        yield "does not have the same code spans"
    if wording.count("`") != text.words.count("`"):
        yield "has other backticks"
    if Counter(_PLACEHOLDER.findall(wording)) != Counter(_PLACEHOLDER.findall(text.words)):
        yield "does not have the same placeholders"
    if set("{}") & set(_PLACEHOLDER.sub("", wording)):
        yield "has braces that are no placeholder"
    if Counter(_NUMBER.findall(wording)) != Counter(_NUMBER.findall(text.words)):
        yield "does not have the same numbers"
    if bool(_NEGATION.search(wording)) != bool(_NEGATION.search(text.words)):
        yield "negates where the text does not, or the other way round"
    if len(wording) > min(
        LONGEST_DESCRIPTION, max(LONGEST_GROWTH * len(text.words), len(text.words) + LONGEST_EXTRA)
    ):
        yield "is much longer"
    yield from _pinned(wording, harness)
    if text.bank != "hook_messages":
        yield from _confusable(wording, text, others)
    yield from _against_the_bank(wording, text, harness.domain)


def _pinned(wording: str, harness: Harness) -> Iterator[str]:
    """Names outside of code spans are not renamed, so none may stand there."""
    names = {tool.name for tool in harness.tools} | {skill.name for skill in harness.skills}
    names |= {argument for tool in harness.tools for argument in tool.input_schema.get("properties", {})}
    for name in _NAME_LIKE.findall(rewrite_code_spans(wording, lambda symbol: "")):
        if name in names:
            yield f"names {name} in running text"


def _against_the_bank(wording: str, text: Text, domain: str) -> Iterator[str]:
    """What the families that use a wording check of it, where the hand-written bank knows the text."""
    for split in ("train", "dev", "test"):
        if wording in written(text.bank, text.key, domain).get(split, ()):
            yield f"stands in the bank already, for {split}"
    if text.bank == "tool_descriptions":
        yield from misdescribed_tool(wording, text.key, domain)
    if text.bank == "skill_descriptions":
        yield from misdescribed_skill(wording, text.key, domain)


def _confusable(wording: str, text: Text, others: Sequence[Text]) -> Iterator[str]:
    """A description must share a word with its own text, and be nearer to it than to any other."""
    own = _nearness(wording, text.words)
    if own == 0:
        yield "shares no word with the text"
    for other in others:
        if other.key != text.key and _nearness(wording, other.words) > own:
            yield f"is nearer to the text of {other.key}"


def _nearness(one: str, other: str) -> float:
    """Shared words over all words (Jaccard), fillers left out, plural and singular alike."""
    left, right = _content(one), _content(other)
    return len(left & right) / len(left | right) if left | right else 0.0


def _content(text: str) -> set[str]:
    return {word.rstrip("s") for word in words_of(text) if word not in _FILLERS}
