"""What a transform is: it maps a harness state to another, declares what it may change and checks what must stay."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

from hat.augment.codec import Codec
from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.domains.base import Task
from hat.harness.model import Harness

Name = TypeVar("Name")
_HARNESS = tuple(field.name for field in fields(Harness) if field.name != "files_digest")
_CODEC = tuple(field.name for field in fields(Codec))
_STATE = ("user_blocks", "only_task", "regenerates")

SURFACES = (*_HARNESS, *(f"codec.{name}" for name in _CODEC), *_STATE)
"""Everything that a transform can change: fields of the harness, of the codec and of the state."""


class Skip(Exception):
    """A transform finds nothing that it can change safely; the reason is recorded with the state."""


@dataclass(frozen=True)
class Draw:
    """Where a transform's choices come from, and what they are for."""

    rng: random.Random
    split: str
    config: AugmentConfig
    task: Task | None = None
    """The one task that the state is sampled for, if there is one."""
    notes: list[str] = field(default_factory=list)
    """Constructs that were left as they are while others were changed."""

    def kept_share(self) -> float:
        """The share of names that this renaming keeps: 0, or any in `AugmentConfig.partial_share` of them.

        Large shares are likelier: it takes many to leave one tool's name alone changed.
        """
        partial = self.config.partial_share
        return self.rng.random() ** 0.5 if partial and self.rng.random() < partial else 0.0

    def renamed(self, names: Sequence[Name], kept_share: float) -> list[Name]:
        """Those of ``names`` that get new ones, in their order: each by chance, and at least one."""
        if not kept_share:
            return list(names)
        always = self.rng.choice(names)
        return [name for name in names if name == always or self.rng.random() >= kept_share]


class Transform(ABC):
    """One family. `apply` and `check` are all the code of most; the rest is its description."""

    family: ClassVar[str]
    summary: ClassVar[str]
    needs: ClassVar[str]
    """What it needs from a harness; it skips without."""
    invariant: ClassVar[str]
    breaks: ClassVar[str]
    """The shortcut that no longer works under such states."""
    surfaces: ClassVar[frozenset[str]]
    """The members of `SURFACES` that it may change."""
    regenerates: ClassVar[bool] = False
    """Whether gold is derived again under the state, instead of presented."""

    @abstractmethod
    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        """The changed state.

        Raises:
            Skip: the harness has nothing that this family can change safely.
        """

    @abstractmethod
    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        """What is wrong with a step of this family: its invariant, by machine; nothing where it holds."""

    def undo(self, after: HarnessState, before: HarnessState) -> HarnessState:
        """The inverse: ``after`` with this family's surfaces as they are in ``before``."""
        for surface in sorted(self.surfaces):
            after = with_surface(after, surface, surface_of(before, surface))
        return after


def surface_of(state: HarnessState, surface: str) -> Any:
    """The value of one of `SURFACES`."""
    owner, _, name = surface.rpartition(".")
    if owner:
        return getattr(state.codec, name)
    return getattr(state if surface in _STATE else state.canonical, surface)


def with_surface(state: HarnessState, surface: str, value: Any) -> HarnessState:
    """The state with another value of one of `SURFACES`."""
    owner, _, name = surface.rpartition(".")
    changes: dict[str, Any] = {name: value}
    if owner:
        return replace(state, codec=replace(state.codec, **changes))
    if surface in _STATE:
        return replace(state, **changes)
    return replace(state, canonical=replace(state.canonical, **changes))


def with_harness(state: HarnessState, **changes: Any) -> HarnessState:
    """The state with other fields of its canonical harness."""
    return replace(state, canonical=replace(state.canonical, **changes))


def with_codec(state: HarnessState, **changes: Any) -> HarnessState:
    """The state with other parts of its codec."""
    return replace(state, codec=replace(state.codec, **changes))


def broken_bijection(before: Mapping[Any, str], after: Mapping[Any, str], what: str) -> Iterator[str]:
    """Problems of new names: they keep those given before, and no two things of a kind share one."""
    for thing, shown in before.items():
        if after.get(thing) != shown:
            yield f"{what} {thing} was presented as {shown} and no longer is"
    if len(set(after.values())) < len(after):
        yield f"two {what}s have one name"
