"""Rule transforms that keep every rule where it is read: S5 reorder, S6 say in other words."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hat.augment.rules.atoms import Rule, Statement
from hat.augment.rules.documents import atoms_of, documents, free_prose, prose_of, with_documents
from hat.augment.rules.syntax import forms_for, parse_rule, say
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform
from hat.harness.model import Document

Entries = tuple[tuple[str, str], ...]


class ReorderRules(Transform):
    family = "S5"
    summary = "reorder rules and the entries of their tables"
    needs = "a document with two rules whose order is free, or a rule that is a table"
    invariant = "the same rules in each document; steps keep their order, and what comes first stays first"
    breaks = "a rule's place in its document"
    surfaces = frozenset({"blocks", "skills"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        changed = with_documents(state.canonical, lambda place, document: _reordered(document, draw))
        if changed == state.canonical:
            changed = with_documents(state.canonical, lambda place, document: _reversed(document))
        if changed == state.canonical:
            raise Skip("no two rules can change places")
        note_prose(state, draw)
        return replace(state, canonical=changed)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        for (place, old), (_, new) in zip(
            documents(before.canonical), documents(after.canonical), strict=True
        ):
            where = " ".join(place)
            if Counter(atoms_of(old)) != Counter(atoms_of(new)):
                yield f"{where} no longer says the same rules"
            if [i if parse_rule(i) is None else "" for i in old.items] != [
                i if parse_rule(i) is None else "" for i in new.items
            ]:
                yield f"free prose of {where} changed or moved"
            yield from _broken_order(where, old, new)


class RewordRules(Transform):
    family = "S6"
    summary = "say rules in other words"
    needs = "a rule for whose verb, modality or condition the bank has other words"
    invariant = "the same atoms in the same order, literals exact"
    breaks = "a rule's wording learnt by heart"
    surfaces = frozenset({"blocks", "skills"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        changed = with_documents(state.canonical, lambda place, document: _reworded(document, draw, 0.6))
        if changed == state.canonical:
            changed = with_documents(state.canonical, lambda place, document: _reworded(document, draw, 1.0))
        if changed == state.canonical:
            raise Skip("the bank has no other words for any rule")
        note_prose(state, draw)
        return replace(state, canonical=changed)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        for (place, old), (_, new) in zip(
            documents(before.canonical), documents(after.canonical), strict=True
        ):
            if atoms_of(old) != atoms_of(new):
                yield f"{' '.join(place)} no longer says the same rules in the same order"
            if prose_of(old) != prose_of(new):
                yield f"free prose of {' '.join(place)} changed"


def note_prose(state: HarnessState, draw: Draw) -> None:
    """Record that the families of rules leave some text alone; the report lists it."""
    if free_prose(state.canonical):
        draw.notes.append("free prose of prompts and skills stays as it is")


def must_precede(earlier: Rule, later: Rule) -> bool:
    """Whether a rule has to stay before a later one of its document.

    What is marked `First` stays ahead. Steps of a procedure (calls of tools and skills by name) keep their order, and
    stay ahead of what is said without a condition, which uses their results.
    """
    if any(statement.first for statement in (*earlier.statements, *later.statements)):
        return True
    if not any(statement.is_step for statement in earlier.statements):
        return any(s.is_step for s in later.statements) and _unconditional(earlier)
    return any(s.is_step for s in later.statements) or _unconditional(later)


def _unconditional(rule: Rule) -> bool:
    return any(not s.condition and s.modality == "must" for s in rule.statements)


def _reordered(document: Document, draw: Draw) -> Document:

    def shuffled(entries: Entries) -> Entries:
        return tuple(draw.rng.sample(entries, k=len(entries)))

    rules = [_with_tables(rule, shuffled) for item in document.items if (rule := parse_rule(item))]
    order: list[Rule] = []
    left = list(rules)
    while left:
        free = [rule for n, rule in enumerate(left) if not any(must_precede(e, rule) for e in left[:n])]
        chosen = draw.rng.choice(free)
        order.append(chosen)
        left.pop(next(n for n, rule in enumerate(left) if rule is chosen))
    return _placed(document, order)


def _reversed(document: Document) -> Document:
    """For when chance gave the old order back: tables backwards, and the last two free neighbours swapped."""
    rules = [
        _with_tables(rule, lambda entries: entries[::-1])
        for item in document.items
        if (rule := parse_rule(item))
    ]
    for n in range(len(rules) - 1, 0, -1):
        if not must_precede(rules[n - 1], rules[n]):
            rules[n - 1], rules[n] = rules[n], rules[n - 1]
            break
    return _placed(document, rules)


def _placed(document: Document, rules: Sequence[Rule]) -> Document:
    """The rules in the places of rules; free prose keeps its own."""
    following = iter(rules)
    original = {rule: item for item in document.items if (rule := parse_rule(item))}
    items = []
    for item in document.items:
        if parse_rule(item) is None:
            items.append(item)
        else:
            rule = next(following)
            items.append(original.get(rule, rule.text))
    return Document(document.title, tuple(items))


def _with_tables(rule: Rule, change: Callable[[Entries], Entries]) -> Rule:
    statements = tuple(s.with_entries(change(s.entries)) if s.entries else s for s in rule.statements)
    return replace(rule, statements=statements)


def _broken_order(where: str, old: Document, new: Document) -> Iterator[str]:
    before = [rule for item in old.items if (rule := parse_rule(item))]
    place = {frozenset(rule.atoms): n for n, item in enumerate(new.items) if (rule := parse_rule(item))}
    for n, later in enumerate(before):
        for earlier in before[:n]:
            pair = frozenset(earlier.atoms), frozenset(later.atoms)
            known = pair[0] in place and pair[1] in place and pair[0] != pair[1]
            if known and must_precede(earlier, later) and place[pair[0]] > place[pair[1]]:
                yield f"in {where} {later.text!r} now stands before {earlier.text!r}"


def _reworded(document: Document, draw: Draw, share: float) -> Document:
    items = []
    for item in document.items:
        rule = parse_rule(item)
        if rule is None:
            items.append(item)
            continue
        statements = tuple(
            _said_otherwise(statement, draw) if draw.rng.random() < share else statement
            for statement in rule.statements
        )
        said = Rule(statements, rule.end).text
        # Only what reads back as the same atoms may stand for the rule.
        again = parse_rule(said)
        same = again is not None and again.atoms == rule.atoms
        items.append(said if same and statements != rule.statements else item)
    return Document(document.title, tuple(items))


def _said_otherwise(statement: Statement, draw: Draw) -> Statement:
    modalities, conditions, verbs = forms_for(statement, draw.split)
    if not (modalities or conditions or verbs):
        return statement

    def maybe(forms: Sequence[str]) -> str | None:
        return draw.rng.choice(forms) if forms and draw.rng.random() < 0.6 else None

    text = say(
        statement, modality=maybe(modalities), condition=maybe(conditions), verb=maybe(verbs)
    ).removesuffix(".")
    return replace(statement, text=text)
