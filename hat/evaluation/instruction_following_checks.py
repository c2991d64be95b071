"""Checkers of verifiable instructions: each says from a reply alone whether one instruction was followed.

Our own small set, of the kind that IFEval (Zhou et al. 2023, arXiv 2311.07911) made common. All are strict:
the reply is judged as it stands, with nothing stripped but white space at its ends.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’)]*(?:\s+|$)")
_BULLET = re.compile(r"^\s*[-*] +\S")
_NUMBERED = re.compile(r"^\s*(\d+)[.)] +\S")
_BLANK_LINES = re.compile(r"\n\s*\n")
ANSWER_SEPARATOR = "******"


def words_of(text: str) -> list[str]:
    """Words in order; an inner apostrophe or hyphen does not split one."""
    return _WORD.findall(text)


def sentences_of(text: str) -> list[str]:
    """Pieces ended by ``.``, ``!`` or ``?`` and white space; a last piece without an end mark counts too."""
    return [piece for piece in (part.strip() for part in _SENTENCE_END.split(text)) if words_of(piece)]


def words(reply: str, low: int = 0, high: int | None = None) -> bool:
    return _between(len(words_of(reply)), low, high)


def sentences(reply: str, low: int = 0, high: int | None = None) -> bool:
    return _between(len(sentences_of(reply)), low, high)


def paragraphs(reply: str, count: int) -> bool:
    return len([part for part in _BLANK_LINES.split(reply) if part.strip()]) == count


def lines(reply: str, count: int) -> bool:
    return len([line for line in reply.splitlines() if line.strip()]) == count


def lower_case(reply: str) -> bool:
    return reply.islower()


def upper_case(reply: str) -> bool:
    return reply.isupper()


def capital_words(reply: str, low: int = 0, high: int | None = None) -> bool:
    """Words of at least two letters in capitals only."""
    return _between(sum(len(word) > 1 and word.isupper() for word in words_of(reply)), low, high)


def include(reply: str, texts: list[str]) -> bool:
    """Each text occurs as whole words, in either case."""
    return all(_occurrences(reply, text) > 0 for text in texts)


def exclude(reply: str, texts: list[str]) -> bool:
    """No text occurs as whole words, in either case."""
    return all(_occurrences(reply, text) == 0 for text in texts)


def repeat(reply: str, text: str, count: int) -> bool:
    """The text occurs exactly so many times as whole words."""
    return _occurrences(reply, text) == count


def without_letter(reply: str, letter: str) -> bool:
    return letter.lower() not in reply.lower()


def bullets(reply: str, count: int) -> bool:
    """Exactly so many lines that start with ``- `` or ``* ``."""
    return sum(bool(_BULLET.match(line)) for line in reply.splitlines()) == count


def numbered(reply: str, count: int) -> bool:
    """Lines numbered 1 to ``count``, in order, and no other numbered line."""
    numbers = [int(match.group(1)) for line in reply.splitlines() if (match := _NUMBERED.match(line))]
    return numbers == list(range(1, count + 1))


def starts_with(reply: str, text: str) -> bool:
    return reply.startswith(text)


def ends_with(reply: str, text: str) -> bool:
    return reply.endswith(text)


def one_of(reply: str, options: list[str]) -> bool:
    """The reply is one of the options and nothing else."""
    return reply in options


def quoted(reply: str) -> bool:
    """The whole reply stands in one pair of double quotation marks."""
    return len(reply) > 2 and reply.startswith('"') and reply.endswith('"') and '"' not in reply[1:-1]


def json_object(reply: str, keys: list[str]) -> bool:
    """The whole reply is one JSON object with exactly these keys."""
    value = _json(reply)
    return isinstance(value, dict) and set(value) == set(keys)


def json_list(reply: str, count: int) -> bool:
    """The whole reply is one JSON array of so many texts."""
    value = _json(reply)
    return isinstance(value, list) and len(value) == count and all(isinstance(item, str) for item in value)


def no_commas(reply: str) -> bool:
    return not any(comma in reply for comma in ",，、")


def no_digits(reply: str) -> bool:
    return not any(character.isdigit() for character in reply)


def title(reply: str) -> bool:
    """A title in double angle brackets, such as ``<<A walk>>``, on a line of its own."""
    return any(re.fullmatch(r"<<[^<>\n]*\w[^<>\n]*>>", line.strip()) for line in reply.splitlines())


def placeholders(reply: str, low: int) -> bool:
    """At least so many placeholders in square brackets, such as ``[name]``."""
    return len(re.findall(r"\[[^\[\]\n]+\]", reply)) >= low


def highlights(reply: str, count: int) -> bool:
    """Exactly so many passages between single asterisks."""
    return len(re.findall(r"(?<!\*)\*(?![\s*])[^*\n]*[^*\s]\*(?!\*)", reply)) == count


def postscript(reply: str) -> bool:
    """The last line that holds anything starts with ``P.S.`` and goes on."""
    filled = [line.strip() for line in reply.splitlines() if line.strip()]
    return len(filled) > 1 and filled[-1].startswith("P.S.") and bool(words_of(filled[-1][4:]))


def two_answers(reply: str) -> bool:
    """Two different answers with six asterisks between them."""
    parts = [part.strip() for part in reply.split(ANSWER_SEPARATOR)]
    return len(parts) == 2 and all(parts) and parts[0] != parts[1]


CHECKS: Mapping[str, Callable[..., bool]] = {
    check.__name__: check
    for check in (
        words, sentences, paragraphs, lines, lower_case, upper_case, capital_words, include, exclude, repeat,
        without_letter, bullets, numbered, starts_with, ends_with, one_of, quoted, json_object, json_list,
        no_commas, no_digits, title, placeholders, highlights, postscript, two_answers,
    )
}  # fmt: skip
"""Name in the data file -> checker; each is called with the reply and the instruction's own parameters."""


def followed(check: str, reply: str, parameters: Mapping[str, Any]) -> bool:
    """Whether a reply follows one instruction. An empty reply follows none."""
    reply = reply.strip()
    return bool(reply) and CHECKS[check](reply, **parameters)


def _between(value: int, low: int, high: int | None) -> bool:
    return low <= value and (high is None or value <= high)


def _occurrences(reply: str, text: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(text)}(?!\w)", reply, re.IGNORECASE))


def _json(reply: str) -> Any:
    try:
        return json.loads(reply)
    except (json.JSONDecodeError, RecursionError):
        return None
