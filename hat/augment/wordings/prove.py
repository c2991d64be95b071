"""Proves wordings on a harness: the textual checks, and the gates with each wording in place."""

from collections.abc import Iterator
from dataclasses import replace

from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.augment.verify import Gold, verify_state
from hat.augment.wordings.checks import problems
from hat.augment.wordings.document import Wordings
from hat.augment.wordings.texts import Text, texts_of, with_text
from hat.errors import BadInput
from hat.harness.model import Harness


def unfit(wording: str, text: Text, harness: Harness, gold: Gold) -> tuple[str, ...]:
    """Why a wording may not stand for a text of a harness; empty where it may. The gates come last: they cost most."""
    others = [other for other in texts_of(harness) if other.bank == text.bank and other.key != text.key]
    found = tuple(problems(wording, text, others, harness))
    return found or tuple(_gate_failures(replace(text, words=wording), harness, gold))


def check_wordings(wordings: Wordings, harness: Harness, gold: Gold) -> None:
    """Each wording of a text that the harness has, proven on this version: another one may have made them.

    Raises:
        BadInput: a wording may not stand for its text, or they are of another domain.
    """
    if wordings.domain != harness.domain:
        raise BadInput(
            f"the wordings are of domain {wordings.domain}, the harness of {harness.domain}",
            where="augment.wordings",
        )
    for text in texts_of(harness):
        for words in wordings.of_text(text.bank, text.key):
            # A version may have taken a wording over as its own text.
            found = () if words.casefold() == text.words.casefold() else unfit(words, text, harness, gold)
            if found:
                raise BadInput(
                    f"{words!r} may not stand for {text.words!r}: {found[0]}",
                    where=f"augment.wordings, {text.bank}, {text.key}",
                    mend=f"Take it out, or make them again with `hat reword {harness.name}@{harness.version}`.",
                )


def _gate_failures(text: Text, harness: Harness, gold: Gold) -> Iterator[str]:
    """What the gates find wrong with the harness that has this wording.

    G1 is left out: it asks that sampling gives the state again, and this one was not sampled.
    """
    state = with_text(HarnessState.original(harness), text)
    for failure in verify_state(state, harness, AugmentConfig(), gold):
        if failure.gate != "G1":
            yield f"gate {failure.gate}: {failure.message}"
