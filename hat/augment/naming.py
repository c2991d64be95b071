"""New names for symbols: synonyms by lemma, case styles, and opaque names, from the vocabulary of one split."""

import random
import re
from collections.abc import Callable, Sequence
from string import ascii_lowercase

from hat.augment.banks import bank

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
LEGAL_NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")

_OPAQUE = {"dev": ("op", "k"), "test": ("x", "z")}
"""Letters before a number in names that say nothing; training uses any others."""
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


def words_of(name: str) -> list[str]:
    """``get_product-info`` and ``getProductInfo`` both as get, product, info."""
    return [word.lower() for word in _WORDS.findall(name)]


def snake(words: Sequence[str]) -> str:
    return "_".join(words)


def kebab(words: Sequence[str]) -> str:
    return "-".join(words)


def camel(words: Sequence[str]) -> str:
    return words[0] + "".join(word.capitalize() for word in words[1:])


def pascal(words: Sequence[str]) -> str:
    return "".join(word.capitalize() for word in words)


Style = Callable[[Sequence[str]], str]
TOOL_STYLES: tuple[Style, ...] = (snake, snake, camel, kebab, pascal)
ARGUMENT_STYLES: tuple[Style, ...] = (snake, snake, camel)
SKILL_STYLES: tuple[Style, ...] = (kebab,)


def rename(name: str, *, split: str, style: Style, opaque: bool, taken: set[str], rng: random.Random) -> str:
    """A new name for ``name`` that is legal and in no way ``taken``; it is added to ``taken``.

    Words without a synonym in the bank make the name opaque rather than half old.
    """
    words = words_of(name)
    vocabulary = bank("vocabulary")
    if not opaque and all(word in vocabulary for word in words):
        for _ in range(8):
            chosen = [rng.choice(vocabulary[word][split]) for word in words]
            candidate = style([part for word in chosen for part in word.split("-")])
            if _free(candidate, taken):
                taken.add(candidate)
                return candidate
    while True:
        candidate = style(_opaque_words(split, rng))
        if _free(candidate, taken):
            taken.add(candidate)
            return candidate


def _opaque_words(split: str, rng: random.Random) -> list[str]:
    """Letters and a number or, in training, as often invented words or words that say nothing about what is named.

    A name that is new in every state cannot be recalled: it has to be copied from the prompt.
    """
    if split != "train":
        return [rng.choice(_OPAQUE[split]), f"{rng.randrange(10, 100)}"]
    kind = rng.randrange(3)
    if kind == 0:
        return [_letters(rng), f"{rng.randrange(1, 1000)}"]
    if kind == 1:
        return [_invented(rng) for _ in range(rng.randrange(1, 4))]
    return rng.sample(bank("opaque_words"), 2)


def _letters(rng: random.Random) -> str:
    """One to three letters that no held-out split uses before a number."""
    held_out = {letters for split in _OPAQUE.values() for letters in split}
    while True:
        letters = "".join(rng.choice(ascii_lowercase) for _ in range(rng.randrange(1, 4)))
        if letters not in held_out:
            return letters


def _invented(rng: random.Random) -> str:
    """Two syllables."""
    return "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(2))


def _free(candidate: str, taken: set[str]) -> bool:
    return candidate not in taken and LEGAL_NAME.match(candidate) is not None
