"""Makes twin pairs: rules of the asked kinds in turn, each with a question that it concerns and its gold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hat.augment.state import HarnessState
from hat.augment.twins import c1, c2, c3, c4
from hat.augment.twins.base import KINDS, Member, Skipped, TwinPair, TwinRule, twins_of
from hat.domains.base import Domain, Split, Task
from hat.errors import BadInput

_MAKERS = {"C1": c1.twin_rules, "C2": c2.twin_rules, "C3": c3.twin_rules, "C4": c4.twin_rules}
_SEED_STRIDE = 1_000
"""Seeds of tasks kept for the rules of one call."""
_LOTS = (60, 300, 2000)
"""Tasks drawn for one rule before there are held to be no more."""


@dataclass(frozen=True)
class Twins:
    """What could be made, and of what not."""

    pairs: tuple[TwinPair, ...]
    skipped: tuple[Skipped, ...]


def twin_rules(
    state: HarnessState, domain: Domain, split: Split, kinds: Sequence[str] = KINDS
) -> list[TwinRule | Skipped]:
    """Every rule of the kinds that belongs to the split.

    Raises:
        BadInput: an unknown kind, or a domain of which no twins can be made.
    """
    twins_of(domain)
    unknown = [kind for kind in kinds if kind not in _MAKERS]
    if unknown:
        raise BadInput(f"unknown kind of twin {unknown[0]!r}", mend=f"Known: {', '.join(KINDS)}.")
    return [rule for kind in kinds for rule in _MAKERS[kind](state, domain, split)]


def make_twins(
    state: HarnessState,
    domain: Domain,
    *,
    split: Split,
    count: int,
    seed: int,
    kinds: Sequence[str] = KINDS,
    one_session: bool = False,
) -> Twins:
    """``count`` pairs, the kinds and within each its rules in turn; a pure function of its arguments.

    Fewer pairs are the first of more.

    Args:
        one_session: all questions of a rule are of one session, so that their prompts are the same.

    Raises:
        BadInput: an unknown kind, or fewer pairs can be made.
    """
    rules = twin_rules(state, domain, split, kinds)
    skipped = [rule for rule in rules if isinstance(rule, Skipped)]
    usable = [rule for rule in rules if isinstance(rule, TwinRule)]
    asked: set[str] = set()
    streams = {
        kind: [
            _pairs(rule, domain, split, seed * _SEED_STRIDE + place, asked, one_session)
            for place, rule in enumerate(usable)
            if rule.kind == kind
        ]
        for kind in kinds
    }
    pairs: list[TwinPair] = []
    while len(pairs) < count:
        made = [pair for pair in map(_next_of, streams.values()) if pair is not None]
        if not made:
            raise BadInput(
                f"only {len(pairs)} twin pairs of {count} can be made in the {split} split",
                where=f"{state.canonical.name}@{state.canonical.version}",
                mend="Ask for fewer, or for other kinds.",
            )
        pairs += made
    return Twins(tuple(pairs[:count]), tuple(skipped))


def make_pair(rule: TwinRule, task: Task, domain: Domain, split: Split) -> TwinPair | None:
    """Both members of a rule for one question, with the gold that each state's harness asks for.

    None where the rule does not concern the question.
    """
    declared = rule.declared(task)
    if declared is None:
        return None
    rederive = twins_of(domain).rederive

    def member(name: str, state: HarnessState) -> Member:
        named = replace(task, id=f"{task.id}/{rule.kind}-{rule.name}/{name}")
        return Member(state, rederive(named, state.canonical))

    plain, twin = member("plain", rule.plain), member("twin", rule.twin)
    return TwinPair(rule.kind, rule.name, split, task, plain, twin, declared)


def _next_of(streams: list[Iterator[TwinPair]]) -> TwinPair | None:
    """The next pair of a kind: of its rules in turn, those with no more questions left out."""
    while streams:
        stream = streams.pop(0)
        pair = next(stream, None)
        if pair is not None:
            streams.append(stream)
            return pair
    return None


def _pairs(
    rule: TwinRule, domain: Domain, split: Split, seed: int, asked: set[str], one_session: bool
) -> Iterator[TwinPair]:
    """Pairs of one rule, no question of which is ``asked`` already."""
    session = domain.sample_session(seed % _SEED_STRIDE, split) if one_session else None
    for lot in _LOTS:
        try:
            tasks = domain.sample_tasks(split, lot, seed, rule.intents or None, session)
        except BadInput:
            return
        for task in tasks:
            pair = None if task.digest in asked else make_pair(rule, task, domain, split)
            if pair is not None:
                asked.add(task.digest)
                yield pair
