"""What a twin is: one question under two harness states that differ in one rule, with the gold of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hat.agent.policy import Policy
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Fact, Split, Task
from hat.errors import BadInput
from hat.harness.model import Harness

KINDS = ("C1", "C2", "C3", "C4")


@dataclass(frozen=True)
class Gold:
    """What a right solution does and says."""

    facts: tuple[Fact, ...]
    operations: tuple[tuple[str, Mapping[str, Any]], ...]
    order: tuple[str, ...] = ()
    """Two operations in their required order, where the harness requires one."""


@dataclass(frozen=True)
class Member:
    """One of the two: a harness state and the task with the gold re-derived for it."""

    state: HarnessState
    task: Task


@dataclass(frozen=True)
class TwinRule:
    """Two states that differ in one rule, not yet tied to a question."""

    kind: str
    name: str
    """Which pair of tools, rule, tool or order it is about; its split follows from this."""
    plain: HarnessState
    twin: HarnessState
    intents: tuple[str, ...]
    """Intents whose tasks it may concern; empty: any."""
    declared: Callable[[Task], tuple[Gold, Gold] | None]
    """The gold of both members as the twin's maker means it; None for a task that the rule does not concern.

    It is written down apart from `TwinDomain.rederive`, which reads it from the harness: the two must agree.
    """


@dataclass(frozen=True)
class TwinPair:
    """Both members; a policy must be right on both, so they are never kept apart."""

    kind: str
    name: str
    split: Split
    question: Task
    """The task that both were made of, with the gold of the unchanged harness."""
    plain: Member
    twin: Member
    declared: tuple[Gold, Gold]
    """The gold of both, as the twin's maker means it."""

    @property
    def id(self) -> str:
        return f"{self.question.id}/{self.kind}-{self.name}"

    @property
    def members(self) -> tuple[tuple[str, Member], tuple[str, Member]]:
        return ("plain", self.plain), ("twin", self.twin)


@dataclass(frozen=True)
class Skipped:
    """A rule of which no twin could be made, and why."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True)
class RuleFlip:
    """One business rule of a domain and its opposite, for C2."""

    name: str
    plain: Harness
    twin: Harness
    intents: tuple[str, ...]
    declared: Callable[[Task], tuple[Gold, Gold] | None]


class TwinDomain(Protocol):
    """What a domain gives beside `hat.domains.base.Domain`, for twins."""

    rules: Sequence[str]
    """Names of all business rules that can flip, of any harness: what is divided among the splits."""

    def rederive(self, task: Task, harness: Harness) -> Task:
        """The task with the gold that this harness asks for, read from the harness."""
        ...

    def flip(self, harness: Harness, name: str, split: Split) -> RuleFlip | str:
        """The harness with a rule and with its opposite; why not, where the harness does not have the rule."""
        ...

    def blind(self, harness: Harness) -> Policy:
        """A policy that knows this harness by heart and never looks at the one it is given."""
        ...


@runtime_checkable
class HasTwins(Protocol):
    """A domain of which twins can be made."""

    twins: TwinDomain


def twins_of(domain: Domain) -> TwinDomain:
    """The domain's part in twins.

    Raises:
        BadInput: the domain has none.
    """
    if not isinstance(domain, HasTwins):
        raise BadInput(
            f"domain {domain.name!r} cannot re-derive gold, so no twins can be made of it",
            mend="Give the domain an attribute `twins`; see hat.augment.twins.base.TwinDomain.",
        )
    return domain.twins
