"""Rule transforms that change where rules stand: S7 mask what cannot apply, S8 split, merge and move."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from hat.augment.banks import bank
from hat.augment.rules.atoms import Atom, Rule, Statement
from hat.augment.rules.documents import Place, atoms_of, documents, prose_of, with_documents
from hat.augment.rules.syntax import parse_rule
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform
from hat.augment.transforms.rules import note_prose
from hat.domains.base import Task
from hat.harness.model import Document, Harness, Skill

_REPLY_VERBS = ("reply", "say", "answer", "give", "promise", "guess", "mention", "quote", "decline")
"""Verbs of what is done in the reply itself: such a rule is read in time where a reply skill says it."""


class MaskRules(Transform):
    family = "S7"
    summary = "leave out rules that cannot apply to the task"
    needs = "a task, and a rule with a condition of which the bank knows on which intents it can hold"
    invariant = "every rule that can apply to the task stays as it is"
    breaks = "obeying a rule from memory, whether it is there or not"
    surfaces = frozenset({"blocks", "skills", "only_task"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        if draw.task is None:
            raise Skip("the state is sampled for no task in particular")
        task = draw.task
        changed = with_documents(state.canonical, lambda place, document: _masked(document, state, task))
        if changed == state.canonical:
            raise Skip("every rule may apply to the task")
        note_prose(state, draw)
        return replace(state, canonical=changed, only_task=True)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        if not (after.only_task and after.task):
            yield "rules are masked, but the state does not say for which task it is"
        new = dict(documents(after.canonical))
        for place, old in documents(before.canonical):
            kept = [item for item in old.items if item in new[place].items]
            if tuple(kept) != new[place].items:
                yield f"{' '.join(place)} has items that it did not have, or in another order"
            for item in old.items:
                rule = parse_rule(item)
                if item not in kept and (rule is None or not _conditional(rule, before.canonical.domain)):
                    yield f"{item!r} was left out, which may apply to any task"


class MoveRules(Transform):
    family = "S8"
    summary = "split, merge and move rules between prompt and skills"
    needs = "a rule of two sentences, two rules in a row, or a rule that is read in time at another place"
    invariant = "whoever has loaded a reply skill has read the same rules"
    breaks = "looking for a rule in the place where it used to stand"
    surfaces = frozenset({"blocks", "skills"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        ways = [_split_one, _merge_two, _move_to_skills, _move_to_prompt]
        draw.rng.shuffle(ways)
        harness = state.canonical
        count = draw.rng.randint(1, 2)
        for way in ways:
            changed = way(harness, draw)
            if changed is not None:
                harness, count = changed, count - 1
            if count == 0:
                break
        if harness == state.canonical:
            raise Skip("no rule can be split, merged or moved")
        note_prose(state, draw)
        return replace(state, canonical=harness)

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        everything = [_all_atoms(state.canonical) for state in (before, after)]
        if everything[0] != everything[1]:
            yield "the harness as a whole no longer says the same rules"
        for skill in before.canonical.skills:
            lost = _visible(before.canonical, skill.name) - _visible(after.canonical, skill.name)
            if skill.kind == "reply" and lost:
                yield f"with {skill.name} loaded, {sorted(atom.action for atom in lost)} can no longer be read"
        for (place, old), (_, new) in zip(
            documents(before.canonical), documents(after.canonical), strict=True
        ):
            if prose_of(old) != prose_of(new):
                yield f"free prose of {' '.join(place)} changed"


def _conditional(rule: Rule, domain: str) -> bool:
    """Whether each sentence has a condition that the bank knows."""
    return all(_possible_intents(statement, domain) is not None for statement in rule.statements)


def _possible_intents(statement: Statement, domain: str) -> set[str] | None:
    """The intents on which the statement can apply; None where that is not known."""
    condition = statement.condition.lower()
    for entry in bank("conditions").get(domain, ()):
        if condition and any(word in condition for word in entry["words"]):
            return set(entry["intents"])
    return None


def _masked(document: Document, state: HarnessState, task: Task) -> Document:
    intents = {task.intent, task.slots.get("asked", task.intent)}

    def stays(item: str) -> bool:
        rule = parse_rule(item)
        if rule is None:
            return True
        possible = [_possible_intents(statement, state.canonical.domain) for statement in rule.statements]
        return any(known is None or known & intents for known in possible)

    kept = tuple(item for item in document.items if stays(item))
    return Document(document.title, kept) if kept else document


def _all_atoms(harness: Harness) -> set[Atom]:
    return {atom for _, document in documents(harness) for atom in atoms_of(document)}


def _visible(harness: Harness, skill: str) -> set[Atom]:
    """The atoms of the prompt and of one skill: what is read by the time of a reply."""
    atoms = {atom for block in harness.blocks for atom in atoms_of(block.document)}
    return atoms | set(atoms_of(harness.skill(skill).body))


def _rules(harness: Harness) -> list[tuple[Place, int, Rule]]:
    return [
        (place, index, rule)
        for place, document in documents(harness)
        for index, item in enumerate(document.items)
        if (rule := parse_rule(item))
    ]


def _with_items(harness: Harness, place: Place, items: Sequence[str]) -> Harness:
    def change(at: Place, document: Document) -> Document:
        return Document(document.title, tuple(items)) if at == place else document

    return with_documents(harness, change)


def _items(harness: Harness, place: Place) -> list[str]:
    return list(dict(documents(harness))[place].items)


def _split_one(harness: Harness, draw: Draw) -> Harness | None:
    choices = [entry for entry in _rules(harness) if len(entry[2].statements) > 1]
    if not choices:
        return None
    place, index, rule = draw.rng.choice(choices)
    items = _items(harness, place)
    items[index : index + 1] = [Rule((statement,), rule.end).text for statement in rule.statements]
    return _with_items(harness, place, items)


def _merge_two(harness: Harness, draw: Draw) -> Harness | None:
    rules = _rules(harness)
    choices = [
        (one, other)
        for one, other in pairwise(rules)
        if one[0] == other[0] and other[1] == one[1] + 1 and one[2].end == other[2].end
    ]
    if not choices:
        return None
    (place, index, rule), (_, _, other) = draw.rng.choice(choices)
    merged = Rule((*rule.statements, *other.statements), rule.end)
    again = parse_rule(merged.text)
    if again is None or again.atoms != merged.atoms:
        return None
    items = _items(harness, place)
    items[index : index + 2] = [merged.text]
    return _with_items(harness, place, items)


def _reply_skills(harness: Harness) -> list[Skill]:
    return [skill for skill in harness.skills if skill.kind == "reply"]


def _move_to_skills(harness: Harness, draw: Draw) -> Harness | None:
    """A rule about the reply from the prompt into every reply skill; one of them is read before any reply."""
    if all(hook.check != "reply_skill_loaded" or hook.event != "PreReply" for hook in harness.hooks):
        return None
    choices = [
        entry
        for entry in _rules(harness)
        if entry[0][0] == "block" and all(_about_the_reply(statement) for statement in entry[2].statements)
    ]
    if not choices or not _reply_skills(harness):
        return None
    place, index, rule = draw.rng.choice(choices)
    items = _items(harness, place)
    del items[index]
    if not items:
        return None
    changed = _with_items(harness, place, items)
    for skill in _reply_skills(harness):
        changed = _with_items(changed, ("skill", skill.name), [*skill.body.items, rule.text])
    return changed


def _about_the_reply(statement: Statement) -> bool:
    return not statement.first and not statement.is_step and statement.verb in _REPLY_VERBS


def _move_to_prompt(harness: Harness, draw: Draw) -> Harness | None:
    """A rule that says itself when it holds, from a reply skill to the end of a block that has rules."""
    blocks = [b.id for b in harness.blocks if b.kind == "prompt" and atoms_of(b.document)]
    reply = {("skill", skill.name) for skill in _reply_skills(harness)}
    choices = [
        entry
        for entry in _rules(harness)
        if entry[0] in reply and all(statement.condition for statement in entry[2].statements)
    ]
    if not choices or not blocks:
        return None
    place, index, rule = draw.rng.choice(choices)
    items = _items(harness, place)
    del items[index]
    if not items:
        return None
    target: Place = ("block", draw.rng.choice(blocks))
    changed = _with_items(harness, place, items)
    return _with_items(changed, target, [*_items(changed, target), rule.text])
