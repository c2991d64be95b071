"""Finds the values a sentence states: money, days, counts, codes, clock times, sizes, vocabulary words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hat.domains.live_shop import vocabulary as words
from hat.domains.live_shop.reading.references import MARK

_N = r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?)(?![0-9]|\.[0-9])"
# No product has these; a reply that claims one is wrong, and must be seen to claim it.
_OTHER_MATERIALS = (
    *("plastic", "leather", "polyester", "nylon", "wood", "metal", "rubber", "paper", "stone", "aluminium"),
    *(
        "aluminum",
        "copper",
        "iron",
        "velvet",
        "cashmere",
        "acrylic",
        "silicone",
        "sugar",
        "chocolate",
        "beef",
    ),
)
_OTHER_COLORS = ("orange", "gold", "silver", "teal", "violet", "turquoise", "magenta", "maroon", "khaki")
_MATERIALS = sorted(
    {*_OTHER_MATERIALS, *(name for names in words.MATERIALS.values() for name in names)},
    key=len,
    reverse=True,
)
_SIZE_UNITS = {"centimeter": "cm", "centimetre": "cm", "milliliter": "ml", "millilitre": "ml", "gram": "g"}
_SIZE_WORDS = {"small": "S", "medium": "M", "large": "L", "extra large": "XL", "2xl": "XXL"}
_LEFT = r"(?:left|remain(?:s|ing)?|in stock|available|in the warehouse|to go|on hand)"
_UNITS = r"(?:pieces?|units?|items?|pcs|of them|more|sets?|pairs?|bottles?|boxes)"
_BEFORE_MONEY = (
    r"(?<![A-Za-z])(?:costs?|costing|prices?|priced|is|are|it's|was|for|at|to|pay|only|just|now|fee|of|by|vs|"
    r"charge[sd]?|sells?|[:=])\s*"
)
_BEFORE_STOCK = (
    r"\b(?:there (?:are|is)|have|has|only|just|still|remaining:?|left:?)\s+(?:only |still |just |exactly )?"
)


@dataclass(frozen=True)
class Value:
    """One value found at [start, end) of the sentence."""

    kind: str
    """One of `_PATTERNS`; `number` is anything else in digits, foreign money and percentages too."""
    text: str
    start: int
    end: int


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.I)


_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "clock",
        _any(
            r"(?<![0-9])([0-9]{1,2}):([0-9]{2})(?![0-9])\s*(am|pm)?\b",
            r"(?<![0-9.])([0-9]{1,2})(?:\.([0-9]{2}))?\s*(am|pm)\b",
        ),
    ),
    (
        "code",
        _any(
            rf"\b(?:{'|'.join(words.COUPON_PREFIXES)})[0-9]+\b",
            r"\b(?-i:(?!RMB|CNY|USD)[A-Z]{3,}[0-9]+)\b",
        ),
    ),
    (
        "foreign",
        _any(
            rf"(?:\$|€|£|\bUSD\b|\bEUR\b)\s*{_N}",
            rf"{_N}\s*(?:(?:dollars?|USD|euros?|EUR|pounds?|cents?)\b|%)",
        ),
    ),
    (
        "size",
        _any(
            rf"{_N}\s?(centimet(?:er|re)s?|millilit(?:er|re)s?|grams?|inch(?:es)?|cm|ml|kg|mm|g|l)\b",
            r"(?-i:(?<![\w'.-])(XXXL|XXL|XL|XS|S|M|L)(?![\w']))",
        ),
    ),
    (
        "days",
        _any(
            rf"\bdays?\s*[:=]\s*{_N}",
            r"([0-9]+)\s*(?:-|–|to|or)\s*([0-9]+)\s*-?\s*(?:\w+\s+)?days?\b",
            rf"{_N}[\s-]*(?:business |working |calendar |full )?days?\b",
        ),
    ),
    ("money", _any(rf"(?:¥|￥|\bRMB|\bCNY|元)\s*{_N}", rf"{_N}\s*(?:yuan\b|rmb\b|cny\b|元|块|¥|￥)")),
    (
        "stock",
        _any(
            rf"{_N}\s*(?:{_UNITS}\s+)?(?:of\s+)?(?:the\s+)?(?:{MARK}s?\s*)?"
            rf"(?:is |are )?(?:still |currently )?{_LEFT}\b",
            rf"{_N}\s*{_UNITS}(?![\w])",
            rf"\b(?:in )?stock\b(?:\s+(?!yuan)[a-z]+|\s*{MARK}){{0,3}}?\s*(?::|is|of|at|are|=)?\s*{_N}",
            rf"{_BEFORE_STOCK}{_N}(?!\s*(?:yuan|rmb|%))(?=\s*(?:of\b|{MARK}|[.,!]|$|left))",
        ),
    ),
    ("money", _any(rf"{_BEFORE_MONEY}{_N}", r"(?<![0-9.])([0-9]+\.[0-9]+)(?![0-9])")),
    ("number", _any(_N)),
    ("material", _any(rf"\b({'|'.join(_MATERIALS)})\b")),
    (
        "color",
        _any(rf"\b(navy(?= blue)|{'|'.join((*words.COLORS, 'gray', *_OTHER_COLORS))})\b(?:(?<=navy) blue)?"),
    ),
    ("host", _any(rf"\b({'|'.join(words.HOSTS)})\b")),
    ("region", _any(rf"\b({'|'.join(words.REGIONS)})\b")),
)
"""Tried in this order; what one has taken, the next cannot."""

_FIRST_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_WORD_NUMBERS = {word: str(number) for number, word in enumerate(_FIRST_NUMBERS)} | {
    "twenty": "20",
    "thirty": "30",
}
_COUNTED = re.compile(
    rf"\b({'|'.join(_WORD_NUMBERS)})"
    r"(?=[\s-]+(?:\w+\s+)?(?:days?|yuan|left|pieces?|units?|in stock|remaining)\b)",
    re.I,
)


def spell_digits(text: str) -> str:
    """Counted number words as digits ("seven days" -> "7 days"); commas between thousands dropped."""
    text = _COUNTED.sub(lambda match: _WORD_NUMBERS[match.group(1).casefold()], text)
    return re.sub(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))", "", text)


def find_values(sentence: str) -> list[Value]:
    """All values of a sentence in reading order, no two overlapping."""
    taken = [False] * len(sentence)
    found: list[Value] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(sentence):
            span = _number_span(match, kind)
            if any(taken[span[0] : span[1]]):
                continue
            taken[span[0] : span[1]] = [True] * (span[1] - span[0])
            found.append(Value("number" if kind == "foreign" else kind, _text(kind, match), *span))
    if re.search(r"\bsizes?\b", sentence, re.I):
        for word in re.finditer(r"\b(extra large|2xl|small|medium|large)\b", sentence, re.I):
            found.append(Value("size", _SIZE_WORDS[word.group(1).casefold()], *word.span()))
    for position, character in enumerate(sentence):
        # Digits of other scripts are not the ones a tool gave.
        if character.isdigit() and not character.isascii():
            found.append(Value("number", character, position, position + 1))
    return sorted(found, key=lambda value: value.start)


def plain_number(text: str) -> str:
    """The shortest decimal text of a number: "59.90" -> "59.9", "007" -> "7"."""
    whole, _, part = text.partition(".")
    part = part.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{part}" if part else whole


def _number_span(match: re.Match[str], kind: str) -> tuple[int, int]:
    """The span to consume: all of it, but only the number where words around it only give it its kind."""
    if kind in ("stock", "money") and match.lastindex:
        group = next(index for index in range(1, match.lastindex + 1) if match.group(index) is not None)
        return match.span(group)
    return match.span()


def _text(kind: str, match: re.Match[str]) -> str:
    given = [group for group in match.groups() if group is not None]
    if kind == "clock":
        return _clock(match)
    if kind == "code":
        return match.group(0).upper()
    if kind == "size":
        if len(given) == 1:
            return given[0]
        unit = given[1].casefold().rstrip("s")
        return f"{plain_number(given[0])} {_SIZE_UNITS.get(unit, unit)}"
    if kind == "days" and len(given) == 2:
        return f"{plain_number(given[0])}-{plain_number(given[1])}"
    if kind == "foreign":
        return match.group(0).strip()
    if kind == "color":
        return given[0].casefold().replace("gray", "grey")
    if kind == "material":
        return given[0].casefold()
    if kind in ("host", "region"):
        names = words.HOSTS if kind == "host" else words.REGIONS
        return next(name for name in names if name.casefold() == given[0].casefold())
    return plain_number(given[0])


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match.group(1) or match.group(4)), match.group(2) or match.group(5) or "00"
    half = (match.group(3) or match.group(6) or "").casefold()
    if half == "pm" and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    return f"{hour:02d}:{minute}"
