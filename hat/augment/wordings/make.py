"""Makes the wordings of a harness: asked for, checked one by one, proven by the gates, divided among the splits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hat.augment.verify import Gold
from hat.augment.wordings.ask import AskModel, ask, question, read_list
from hat.augment.wordings.prove import unfit
from hat.augment.wordings.texts import FAMILY_OF, Text, texts_of
from hat.domains.base import Split
from hat.files import sha256_text
from hat.harness.model import Harness

SPLITS: tuple[Split, ...] = ("train", "train", "dev", "test")
"""Half of the wordings are for training; a wording's own hash decides, so another one moves none."""


@dataclass(frozen=True)
class Wording:
    """One wording of a text and what became of it."""

    text: Text
    words: str
    split: Split
    problems: tuple[str, ...]
    """Why it may not be used; none for one that may."""


def make_wordings(
    harness: Harness,
    gold: Gold,
    *,
    count: int,
    model: str,
    ask_model: AskModel,
    cache: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Wording]:
    """All wordings that the model gave, in the order of the texts, with what the checks and the gates say of each.

    Args:
        gold: accepted trajectories, to be replayed under a state with the wording in place.
        count: wordings asked for a text.
        ask_model: answers conversations; asked only for what the cache does not have.
    """
    texts = texts_of(harness)
    questions = [question(text, _others(text, texts), count) for text in texts]
    replies = ask(questions, model, ask_model, cache)
    made: list[Wording] = []
    for done, (text, reply) in enumerate(zip(texts, replies, strict=True), start=1):
        listed = read_list(reply)
        if listed is None:
            made.append(Wording(text, reply, "train", ("the answer is no JSON list of strings",)))
        for words in dict.fromkeys(listed or ()):
            made.append(Wording(text, words, split_of(words), unfit(words, text, harness, gold)))
        progress(done, len(texts))
    return made


def split_of(words: str) -> Split:
    """The split that a wording belongs to."""
    return SPLITS[int(sha256_text(f"wording:{words}"), 16) % len(SPLITS)]


def as_document(made: Sequence[Wording], harness: Harness, model: str) -> dict[str, Any]:
    """What can be used, in the layout of the banks (by domain where they are), and what cannot, with the reasons."""
    banks: dict[str, dict[str, dict[str, list[str]]]] = {bank: {} for bank in FAMILY_OF}
    for one in made:
        if not one.problems:
            by_split = banks[one.text.bank].setdefault(one.text.key, {"train": [], "dev": [], "test": []})
            by_split[one.split].append(one.words)
    return {
        "schema_version": 1,
        "domain": harness.domain,
        "harness": f"{harness.name}@{harness.version}",
        "harness_digest": harness.digest,
        "model": model,
        "banks": banks,
        "refused": [
            {"bank": one.text.bank, "key": one.text.key, "words": one.words, "problems": list(one.problems)}
            for one in made
            if one.problems
        ],
    }


def _others(text: Text, texts: Sequence[Text]) -> list[Text]:
    return [other for other in texts if other.bank == text.bank and other.key != text.key]
