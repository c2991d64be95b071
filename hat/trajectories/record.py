"""The canonical record of one episode: what happened, in the harness's own names, never rendered text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from hat.agent.calls import Call
from hat.domains.base import Scores, Task
from hat.errors import BadInput

SCHEMA_VERSION = 1

End = Literal["replied", "empty_reply", "retries_exhausted", "turns_exhausted", "engine_error", "unfinished"]


@dataclass(frozen=True)
class Verdict:
    """A check that blocked; ``parameters`` fill the hook's message and use canonical names in code spans."""

    check: str
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class Observation:
    """What the model got back for one call.

    The code of a result, which the model never sees, is empty unless a simulated fault broke the result unnoticed.
    """

    kind: Literal["result", "error", "skill", "unknown_name", "blocked"]
    value: Any
    """result: the JSON value; error: a message; skill: its canonical name; unknown_name: the name used."""
    code: str = ""
    """error: its code; unknown_name: ``tool``, ``argument``, ``value`` or ``skill``."""
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Turn:
    """One assistant turn and its consequences."""

    content: str
    calls: tuple[Call, ...] = ()
    """Canonical calls, in order; a call whose name is unknown keeps the name as it was written."""
    observations: tuple[Observation, ...] = ()
    """One for each call."""
    verdict: Verdict | None = None
    """Why the reply was blocked or the text could not be parsed."""
    raw: str | None = None
    """The assistant's text, kept only where it could not be parsed."""
    thinking: str = ""


@dataclass(frozen=True)
class StateReference:
    """Which harness state an episode ran under: enough to sample that state again."""

    seed: int
    split: str
    families: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class Trajectory:
    """One episode."""

    id: str
    task: Task
    harness: str
    version: str
    base_digest: str
    state: StateReference
    policy: str
    turns: tuple[Turn, ...]
    end: End
    reply: str
    scores: Scores | None = None

    def with_scores(self, scores: Scores) -> Trajectory:
        return replace(self, scores=scores)

    def to_json(self) -> dict[str, Any]:
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Trajectory:
        """Raises `BadInput` when the document is of another schema version or lacks a key."""
        fields = dict(value)
        version = fields.pop("schema_version", None)
        if version != SCHEMA_VERSION:
            raise BadInput(f"trajectory of schema version {version!r}; this reader knows {SCHEMA_VERSION}")
        try:
            fields["task"] = Task.from_json(fields["task"])
            fields["state"] = StateReference(
                **{**fields["state"], "families": tuple(fields["state"]["families"])}
            )
            fields["turns"] = tuple(_turn(turn) for turn in fields["turns"])
            fields["scores"] = Scores(**fields["scores"]) if fields.get("scores") else None
            return cls(**fields)
        except (KeyError, TypeError) as error:
            raise BadInput(f"not a trajectory: {error}") from error


def _turn(value: Mapping[str, Any]) -> Turn:
    return Turn(
        **{
            **value,
            "calls": tuple(Call(**call) for call in value["calls"]),
            "observations": tuple(_observation(observation) for observation in value["observations"]),
            "verdict": _verdict(value.get("verdict")),
        }
    )


def _observation(value: Mapping[str, Any]) -> Observation:
    return Observation(**{**value, "verdict": _verdict(value.get("verdict"))})


def _verdict(value: Mapping[str, Any] | None) -> Verdict | None:
    return Verdict(**value) if value else None
