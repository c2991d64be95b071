"""What a rule means, whatever its words: atoms; and the sentences that carry them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

Modality = Literal["must", "must not", "may", "value"]

_LITERAL = re.compile(r"`[^`]+`|\"[^\"]+\"|“[^”]+”|\d+(?:[.,]\d+)*%?")


@dataclass(frozen=True)
class Atom:
    """One thing that a rule says. Two texts with equal atoms say the same."""

    modality: Modality
    condition: str
    """When it holds; empty: always."""
    action: str
    """What is to be done or not, with its verb's first form; for ``value``: what applies."""
    literals: tuple[str, ...]
    """Numbers, quotations and code spans in it, exactly as written."""
    first: bool = False
    """Whether it comes before everything else."""


@dataclass(frozen=True)
class Statement:
    """One sentence of a rule."""

    text: str
    """As written, without its final stop."""
    modality: Modality
    condition: str = ""
    clause: bool = False
    """Whether the condition is a sentence (if ...), not a thing (... :)."""
    first: bool = False
    verb: str = ""
    """The verb's first form; empty for a denial (no returns) and a table."""
    rest: str = ""
    entries: tuple[tuple[str, str], ...] = ()
    """Of a table (by return class: clothing 7 days, ...): key and value of each."""
    link: Literal["is", "as"] = "is"
    """Of a table: whether its condition is an attribute (by class: ...) or a thing (returns as clothing: ...)."""

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        if self.entries:
            return tuple(
                Atom("value", f"{self.condition} {self.link} {key}", value, literals(f"{key} {value}"))
                for key, value in self.entries
            )
        action = f"{self.verb} {self.rest}".strip()
        return (
            Atom(self.modality, self.condition, action, literals(f"{self.condition} {action}"), self.first),
        )

    @property
    def is_step(self) -> bool:
        """Whether it tells to use a tool or skill by name: an action of a procedure."""
        return self.modality == "must" and "`" in self.rest

    def with_entries(self, entries: Sequence[tuple[str, str]]) -> "Statement":
        """The table with its entries in another order."""
        if self.link == "as":
            listed = ", ".join(f"as {key}: {value}" for key, value in entries)
            text = f"{upper_start(self.condition)} {listed}"
        else:
            text = f"By {self.condition}: {', '.join(f'{key} {value}' for key, value in entries)}"
        return replace(self, text=text, entries=tuple(entries))


@dataclass(frozen=True)
class Rule:
    """One item of a document that is a rule throughout."""

    statements: tuple[Statement, ...]
    end: str
    """The final stop, where there is one."""

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(atom for statement in self.statements for atom in statement.atoms)

    @property
    def text(self) -> str:
        """The item: its first sentence begins with a capital, the others follow after semicolons."""
        first, *others = (statement.text for statement in self.statements)
        return "; ".join([upper_start(first), *map(lower_start, others)]) + self.end


def literals(text: str) -> tuple[str, ...]:
    """The literals in a text, sorted."""
    return tuple(sorted(_LITERAL.findall(text)))


def lower_start(text: str) -> str:
    """With a small first letter, unless the first word has other capitals or digits, as names and codes do."""
    word = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if word[1:].islower() or len(word) == 1 or word[1:] == "" else text


def upper_start(text: str) -> str:
    """With a capital first letter."""
    return text[:1].upper() + text[1:]
