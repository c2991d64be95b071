"""How a message names what exists when something was asked for that does not."""

import difflib
from collections.abc import Iterable


def known_names(asked: str, known: Iterable[str], *, shown: int = 20, from_end: bool = False) -> str:
    """``Did you mean 'live-shop'? Known: a, live-shop.``: the most similar name first, then all of them.

    Of a long list ``shown`` names are given: the first or, with ``from_end``, the last.
    """
    names = list(known)
    if not names:
        return "There are none."
    near = difflib.get_close_matches(asked.casefold(), names, n=1, cutoff=0.5)
    given = names[-shown:] if from_end else names[:shown]
    more = f" and {len(names) - len(given)} more" if len(names) > len(given) else ""
    listed = f"Known: {', '.join(given)}{more}."
    return f"Did you mean {near[0]!r}? {listed}" if near and len(names) > 1 else listed
