"""The documents of an evidence folder, as values: what evaluation, latency and the run write down.

Documents are read leniently (keys may be added) but typed; numbers may be missing or NaN, which the verdict
reports instead of the reader refusing the whole folder.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hat.schema_version import SchemaVersion


def _score(value: Any) -> Any:
    if isinstance(value, bool):
        return float(value)
    if value is None or isinstance(value, (int, float)):
        return value
    raise ValueError("not a number")


Score = Annotated[float | None, BeforeValidator(_score)]
DIGEST = re.compile("^[0-9a-f]{16,64}$")
"""What the digest of an item's content looks like."""
Role = Literal["base", "production", "candidate"]
ROLES: tuple[Role, ...] = ("base", "production", "candidate")


class _Document(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class SubjectModels(_Document):
    """Digests of the models that the evidence is about."""

    base: str | None = None
    production: str | None = None
    """None: nothing is in production for this environment and harness."""
    candidate: str


class HarnessName(_Document):
    """A harness version that something was measured under, besides the subject's own."""

    version: str
    digest: str


class EvidenceSubject(_Document):
    """`subject.json`: what was measured, with what, against which head of the ledger."""

    schema_version: SchemaVersion
    environment: str
    """Whose policy and ledger: the profile's name."""
    harness: str
    version: str
    harness_digest: str
    models: SubjectModels
    previous_harness: HarnessName | None = None
    """The version in production when the run began, under which `attribution/` was measured; None: none was."""
    ledger_head: int = Field(ge=0)
    """Sequence number of the ledger entry that was in production when the run began; 0 for none."""
    engine: str
    """What ran the evaluated model, e.g. `transformers`."""
    hardware: str
    """`cpu` or the accelerator's name."""
    training_items: str | None
    """Name of the file in this folder that lists the digests of all items trained on; None when unknown."""

    @property
    def screens_production(self) -> bool:
        """Whether the candidate is the production model itself, under a new harness."""
        return self.models.production is not None and self.models.production == self.models.candidate


class TrainingItems(_Document):
    """The file that `training_items` names; an empty list states that nothing was trained on."""

    schema_version: SchemaVersion
    task_digests: tuple[Annotated[str, Field(pattern=DIGEST.pattern)], ...]


class Item(_Document):
    """One evaluated item. Scores are in [0, 1]."""

    id: str
    task_digest: str
    state: Any = None
    """The harness state that it was shown under: part of what makes two items the same."""
    intent: str | None = None
    skill: str | None = None
    """Canonical name of the reply skill that is right for it."""
    harness: str | None = None
    """The held-out harness that it was asked under, where that is not the subject's; see `slices`."""
    language: str | None = None
    families: tuple[str, ...] | None = None
    """HSA families in the state; read from `state.families` where that is given instead."""
    correct: Score = None
    effectiveness: Score = None
    tool_rationality: Score = None
    skill_selection: Score = None
    skill_loaded: Score = None
    parsed: Score = None
    answerable: bool | None = None
    """Whether a right reply answers; otherwise declining is right."""
    refused: Score = None

    def slices(self, key: str) -> tuple[str, ...]:
        """The slices that the item is in, by a key of the policy; empty when it does not say.

        By `harness`: the held-out harness that it names, else the digest of the augmented harness state.
        """
        state = self.state if isinstance(self.state, dict) else {}
        if key == "family":
            return tuple(self.families if self.families is not None else state.get("families") or ())
        if key == "harness":
            held_out = str(state.get("digest", ""))[:12] if state.get("families") else None
            value = self.harness or held_out
        else:
            value = getattr(self, key)
        return () if not value else (value,)


ITEM_LABELS = ("intent", "skill", "harness", "language", "families", "answerable")
"""What an item says of itself, whatever the model: equal in every evaluation that has it."""


class SuiteResult(_Document):
    """One suite. `n` and `accuracy` must agree with the items, from which everything is recomputed."""

    n: int
    accuracy: Score = None
    items: tuple[Item, ...]


class EvaluationDocument(_Document):
    """`evaluation/<role>.json`: what `hat eval --json` prints, with the items."""

    schema_version: SchemaVersion
    harness: str
    version: str
    harness_digest: str
    model_digest: str
    suites: dict[str, SuiteResult]


class LatencyRequest(_Document):
    """One question. Times in seconds on one clock; `finished` may be missing where none came."""

    id: str
    scheduled: float
    """When it was to be sent: waiting for a stalled server counts."""
    finished: float | None = None
    first_token: float | None = None
    """When the engine's first token was there."""
    status: Literal["ok", "error", "timeout"]


class LatencyDocument(_Document):
    """`latency.json`: every request that was sent, and under which load."""

    schema_version: SchemaVersion
    engine: str
    hardware: str
    model_digest: str | None = None
    """The model whose answers were timed; the gate accepts the candidate's only."""
    harness_digest: str | None = None
    """The harness that it answered under; the gate accepts the subject's only."""
    arrival: Literal["closed-loop", "poisson"]
    concurrency: int | None = None
    rate: float | None = None
    shared_device: bool
    warmup: tuple[float, ...] = ()
    """Seconds of warm-up requests that were sent before, and kept apart by, the load generator."""
    requests: tuple[LatencyRequest, ...]
