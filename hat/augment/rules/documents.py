"""The rules of a whole harness: which items of its prompts and skills are rules, and how to change them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from hat.augment.rules.atoms import Atom
from hat.augment.rules.syntax import parse_rule
from hat.harness.model import Document, Harness

Place = tuple[str, str]
"""("block", id) or ("skill", name)."""


def documents(harness: Harness) -> Iterator[tuple[Place, Document]]:
    """Every document that may hold rules: prompt blocks, then skill bodies."""
    for block in harness.blocks:
        yield ("block", block.id), block.document
    for skill in harness.skills:
        yield ("skill", skill.name), skill.body


def with_documents(harness: Harness, change: Callable[[Place, Document], Document]) -> Harness:
    """The harness with each such document passed through ``change``."""
    return replace(
        harness,
        blocks=tuple(
            replace(block, document=change(("block", block.id), block.document)) for block in harness.blocks
        ),
        skills=tuple(
            replace(skill, body=change(("skill", skill.name), skill.body)) for skill in harness.skills
        ),
    )


def atoms_of(document: Document) -> list[Atom]:
    """The atoms of a document's rules, in order."""
    return [atom for item in document.items if (rule := parse_rule(item)) for atom in rule.atoms]


def prose_of(document: Document) -> list[str]:
    """The items that are free prose, in order."""
    return [item for item in document.items if parse_rule(item) is None]


def free_prose(harness: Harness) -> list[tuple[Place, str]]:
    """Every item of the harness that the families S5 to S8 leave as it is, and where it stands."""
    return [(place, item) for place, document in documents(harness) for item in prose_of(document)]
