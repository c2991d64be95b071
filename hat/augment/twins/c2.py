"""C2: one business rule flips. Who answers by memory gives the old rule's answer."""

from collections.abc import Iterator

from hat.augment.state import HarnessState
from hat.augment.twins.base import Skipped, TwinRule, twins_of
from hat.augment.twins.edit import changed
from hat.augment.twins.splits import of_split
from hat.domains.base import Domain, Split

KIND = "C2"


def twin_rules(state: HarnessState, domain: Domain, split: Split) -> Iterator[TwinRule | Skipped]:
    """One rule for each of the domain's business rules that belongs to the split."""
    business = twins_of(domain)
    for name in of_split(tuple(business.rules), split, salt=KIND):
        flip = business.flip(state.canonical, name, split)
        if isinstance(flip, str):
            yield Skipped(KIND, name, flip)
            continue
        yield TwinRule(
            KIND,
            name,
            changed(state, flip.plain, KIND),
            changed(state, flip.twin, KIND),
            flip.intents,
            flip.declared,
        )
