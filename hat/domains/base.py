"""What a domain gives the agent: tasks with checkable gold, executed operations, scores, an expert and a baseline."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hat.errors import BadInput
from hat.files import canonical_json, sha256_text
from hat.nearest import known_names

if TYPE_CHECKING:
    from hat.agent.checks import Check
    from hat.agent.policy import Policy
    from hat.harness.model import Harness
    from hat.trajectories.record import Trajectory

Split = Literal["train", "dev", "test"]


@dataclass(frozen=True, order=True)
class Fact:
    """One thing a reply asserts: a kind, its value, and what it is said of where that matters."""

    kind: str
    value: str
    subject: str = ""


@dataclass(frozen=True)
class Task:
    """One viewer's question with its gold, in the domain's own terms (no harness name occurs here)."""

    id: str
    split: Split
    intent: str
    question: str
    session: Mapping[str, str | int]
    slots: Mapping[str, Any]
    operations: tuple[tuple[str, Mapping[str, Any]], ...]
    """The domain operations a right solution calls, with arguments."""
    facts: tuple[Fact, ...]
    """Exactly what a right reply asserts."""
    answerable: bool
    language: str = "en"
    source: Literal["generated", "hand-written", "mined"] = "generated"
    """A mined question was asked by a real viewer and has no gold: no operations, no facts."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what would leak if this task were trained on: question, session and gold facts."""
        facts = sorted([fact.kind, fact.value, fact.subject] for fact in self.facts)
        return sha256_text(canonical_json([self.question, dict(self.session), facts]))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Task:
        return cls(
            **{
                **value,
                "operations": tuple((name, arguments) for name, arguments in value["operations"]),
                "facts": tuple(Fact(**fact) for fact in value["facts"]),
            }
        )


@dataclass(frozen=True)
class ToolOutcome:
    """What executing one operation gave: a JSON value, or an error with a code.

    The code of an ok outcome is empty, but where a simulated fault broke the value unnoticed.
    """

    status: Literal["ok", "error"]
    value: Any
    code: str = ""


@dataclass(frozen=True)
class Scores:
    """The scores of one episode against its task's gold."""

    accuracy: int
    """1 when the reply asserts exactly the gold facts."""
    effectiveness: float
    """0, 0.5 or 1."""
    tool_rationality: float
    """Needed calls made, over needed or made calls: 0 to 1."""
    skill_selection: float
    """1 when exactly the right reply skill was loaded, 0.5 when others too, else 0."""
    skill_loaded: bool
    refused: bool
    parsed: bool
    """False when any turn could not be parsed."""


class Domain(Protocol):
    """A domain's whole interface."""

    name: str
    operations: Mapping[str, tuple[str, ...]]
    """Operation to its arguments: what a harness's tools may be bound to."""
    intents: tuple[str, ...]
    """What viewers may want: what a harness's reply skills must answer."""
    checks: Mapping[str, Check]
    """Checks that hooks of type ``builtin`` may name, beside the general ones of `hat.agent.checks`."""

    def sample_session(self, seed: int, split: Split) -> Mapping[str, str | int]: ...

    def sample_tasks(
        self,
        split: Split,
        count: int,
        seed: int,
        intents: Sequence[str] | None = None,
        session: Mapping[str, str | int] | None = None,
    ) -> list[Task]: ...

    def hand_written_tasks(self) -> list[Task]: ...

    def execute(
        self, task: Task, operation: str, arguments: Mapping[str, Any], attempt: int = 0
    ) -> ToolOutcome: ...

    def score(self, task: Task, trajectory: Trajectory, harness: Harness) -> Scores: ...

    def expert(self) -> Policy: ...

    def baseline(self) -> Policy: ...


_DOMAINS: Mapping[str, str] = {
    "live_shop": "hat.domains.live_shop.domain:LiveShop",
    "declared_tools": "hat.domains.declared_tools.domain:DeclaredTools",
}


def get_domain(name: str) -> Domain:
    """The domain of that name.

    Raises:
        BadInput: there is no such domain.
    """
    try:
        module, _, attribute = _DOMAINS[name].partition(":")
    except KeyError:
        raise BadInput(f"unknown domain {name!r}", mend=known_names(name, _DOMAINS)) from None
    factory: Callable[[], Domain] = getattr(importlib.import_module(module), attribute)
    return factory()


def domain_of(harness: Harness) -> Domain:
    """The domain that a harness works in; made from the harness where its own tools define it.

    Raises:
        BadInput: there is no such domain.
    """
    domain = get_domain(harness.domain)
    made_for: Callable[[Harness], Domain] | None = getattr(domain, "for_harness", None)
    return domain if made_for is None else made_for(harness)


def made_from_harness(domain: Domain) -> bool:
    """Whether the domain is empty until it is made from a harness's own tools."""
    return hasattr(domain, "for_harness")
