"""The append-only record of which pair is in production: one ledger an (environment, harness).

An entry is one object, `ledger/<environment>/<harness>/<sequence>.json`, created by a conditional write: that
write is the compare-and-swap. The entry with the highest number is in production. Nothing is ever rewritten,
so a crash before the write leaves the old pair in production and a crash after it the new one. Each entry names the
digest of the one before, so an entry that was altered in the store is found when the history is read.
"""

import hashlib
import json
import re
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from hat.errors import BadInput, EnvironmentFailure, HatError
from hat.files import canonical_json
from hat.promotion.semver import precedence
from hat.schema_version import SchemaVersion
from hat.storage import Conflict
from hat.validation import first_problem

_ENTRY = re.compile(r"\d{8}\.json")
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""What the name of an environment or of a harness looks like."""


class LedgerStore(Protocol):
    """What a ledger needs of a store (see `hat.storage.Store`)."""

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str: ...

    def get(self, key: str) -> bytes: ...

    def list(self, prefix: str = "") -> list[str]: ...


class StaleBaseline(HatError):
    """Another pair went into production since this one was compared with it; it must be decided again."""

    exit_status = 3


class _Value(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class PairReference(_Value):
    """An earlier entry of the same ledger, as the pair that a rollback returns to."""

    sequence: int
    version: str
    harness_digest: str
    model_digest: str
    run: str


class Proposal(_Value):
    """A pair that asks for promotion."""

    environment: str
    harness: str
    version: str
    harness_digest: str
    model: dict[str, Any]
    """The ModelRef."""
    run: str
    """The run that proved it; empty outside of one."""
    verdict_digest: str
    evidence_digest: str
    who: str
    when: str
    """Time in UTC, ISO 8601."""
    reason: str = ""

    @property
    def model_digest(self) -> str:
        return str(self.model["digest"])

    def same_pair_and_proof(self, other: "Proposal") -> bool:
        """Whether ``other`` promotes the same pair for the same verdict of the same run."""
        return _identity(self) == _identity(other)


class LedgerEntry(Proposal):
    """One line of the ledger."""

    schema_version: SchemaVersion = 1
    sequence: int
    kind: Literal["promote", "rollback"]
    previous: PairReference | None
    """What a rollback of this entry returns to."""
    parent_digest: str | None = None
    """Hex SHA-256 of the bytes of the entry before; None for the first, and where entries were not chained yet."""

    def reference(self) -> PairReference:
        """This entry as another's `previous`."""
        return PairReference(
            sequence=self.sequence,
            version=self.version,
            harness_digest=self.harness_digest,
            model_digest=self.model_digest,
            run=self.run,
        )

    def to_json(self) -> dict[str, Any]:
        return {"schema_version": 1, **self.model_dump(mode="json"), "model_digest": self.model_digest}


def production(store: LedgerStore, environment: str, harness: str) -> LedgerEntry | None:
    """The entry in production, or None.

    Raises:
        EnvironmentFailure: the ledger has a gap or an unreadable entry, or the store fails.
    """
    count = _length(store, environment, harness)
    return _read(store, environment, harness, count) if count else None


def harnesses(store: LedgerStore, environment: str) -> list[str]:
    """The harnesses that have a ledger in an environment, sorted. Raises `BadInput` for what cannot be its name."""
    check_name(environment)
    parts = [key.split("/") for key in store.list(f"ledger/{environment}")]
    return sorted({part[2] for part in parts if len(part) == 4 and _is_name(part[2])})


def environments(store: LedgerStore) -> list[str]:
    """The environments that have a ledger, sorted."""
    return sorted({parts[1] for key in store.list("ledger") if len(parts := key.split("/")) == 4})


def history(store: LedgerStore, environment: str, harness: str) -> list[LedgerEntry]:
    """Every entry, oldest first. Raises as `production` does, and when an entry is not what its successor saw."""
    entries: list[LedgerEntry] = []
    before: bytes | None = None
    for sequence in range(1, _length(store, environment, harness) + 1):
        data = store.get(_key(environment, harness, sequence))
        entry = _parse(data, environment, harness, sequence)
        if entry.parent_digest is not None and (before is None or _digest(before) != entry.parent_digest):
            raise _damaged(environment, harness, sequence - 1, sequence)
        entries.append(entry)
        before = data
    return entries


def promote(store: LedgerStore, proposal: Proposal, *, expected_head: int) -> LedgerEntry:
    """Put a pair into production if entry ``expected_head`` (0: none) still is in production.

    Promoting the same pair for the same verdict of the same run again returns the entry that is there, so a
    step killed after its write can be run again.

    Raises:
        StaleBaseline: another entry has been written since.
        BadInput: production has a newer harness version, or the proposal is incomplete.
        EnvironmentFailure: the store fails or the ledger is damaged.
    """
    if not isinstance(proposal.model.get("digest"), str):
        where = _folder(proposal.environment, proposal.harness)
        raise BadInput("the model to promote has no digest", where=where)
    precedence(proposal.version)
    count = _length(store, proposal.environment, proposal.harness)
    for sequence in range(expected_head + 1, count + 1):
        entry = _read(store, proposal.environment, proposal.harness, sequence)
        if entry.kind == "promote" and entry.same_pair_and_proof(proposal):
            return entry
    data = store.get(_key(proposal.environment, proposal.harness, count)) if count else None
    head = None if data is None else _parse(data, proposal.environment, proposal.harness, count)
    if count != expected_head:
        raise _stale(proposal.environment, proposal.harness, expected_head, count)
    if head is not None and precedence(proposal.version) < precedence(head.version):
        raise BadInput(
            f"version {head.version} is in production; {proposal.version} is older and does not replace it",
            where=_folder(proposal.environment, proposal.harness),
            mend="Going back is what `hat rollback` is for.",
        )
    values = {name: getattr(proposal, name) for name in Proposal.model_fields}
    return _append(
        store,
        LedgerEntry(
            **values,
            sequence=count + 1,
            kind="promote",
            previous=head.reference() if head else None,
            parent_digest=None if data is None else _digest(data),
        ),
    )


def rollback(
    store: LedgerStore, environment: str, harness: str, *, reason: str, who: str, when: str
) -> LedgerEntry:
    """Put the pair that was in production before back, by a new entry.

    Rolling back twice goes two pairs back: it never returns to a pair that was rolled back.

    Raises:
        BadInput: no reason or none that is one line of text, nothing in production, or nothing before it.
        StaleBaseline: another entry was written meanwhile.
        EnvironmentFailure: the store fails or the ledger is damaged.
    """
    where = _folder(environment, harness)
    if not reason.strip() or not reason.isprintable():
        raise BadInput("a rollback needs a reason, on one line", where=where, mend="Give it with --reason.")
    entries = history(store, environment, harness)
    if not entries:
        raise BadInput(
            "nothing is in production",
            where=where,
            mend="Look at HAT_STORE and --environment, or promote a pair.",
        )
    head = entries[-1]
    if head.previous is None:
        raise BadInput(
            f"nothing was in production before {harness}@{head.version}",
            where=where,
            mend="Promote another pair instead.",
        )
    target = entries[head.previous.sequence - 1]
    if target.reference() != head.previous:
        raise _damaged(environment, harness, head.previous.sequence, head.sequence)
    data = store.get(_key(environment, harness, head.sequence))
    values = {name: getattr(target, name) for name in Proposal.model_fields}
    values |= {"who": who, "when": when, "reason": reason.strip()}
    return _append(
        store,
        LedgerEntry(
            **values,
            sequence=head.sequence + 1,
            kind="rollback",
            previous=target.previous,
            parent_digest=_digest(data),
        ),
    )


def production_document(environment: str, harness: str, entry: LedgerEntry | None) -> dict[str, Any]:
    """What `hat production --json` prints; the pair's values are None when nothing is in production."""
    names = ("version", "harness_digest", "model", "model_digest", "run")
    values = {name: None if entry is None else getattr(entry, name) for name in names}
    previous = None if entry is None or entry.previous is None else entry.previous.model_dump(mode="json")
    return {
        "schema_version": 1,
        "environment": environment,
        "harness": harness,
        **values,
        "previous": previous,
        "sequence": 0 if entry is None else entry.sequence,
    }


def _append(store: LedgerStore, entry: LedgerEntry) -> LedgerEntry:
    key = _key(entry.environment, entry.harness, entry.sequence)
    data = canonical_json(entry.to_json()).encode("utf-8")
    try:
        store.put(key, data, if_absent=True)
    except Conflict as error:
        # A client that repeats a write whose answer was lost meets its own entry.
        if store.get(key) == data:
            return entry
        raise _stale(entry.environment, entry.harness, entry.sequence - 1, entry.sequence) from error
    return entry


def _length(store: LedgerStore, environment: str, harness: str) -> int:
    """How many entries there are; they are numbered from 1 without a gap."""
    keys = store.list(_folder(environment, harness))
    strange = [key for key in keys if not _ENTRY.fullmatch(key.rsplit("/", 1)[-1])]
    if strange:
        raise EnvironmentFailure(
            f"{strange[0]} is no ledger entry", where=_folder(environment, harness), mend="Move it elsewhere."
        )
    expected = [_key(environment, harness, sequence) for sequence in range(1, len(keys) + 1)]
    if sorted(keys) != expected:
        odd = sorted(set(keys) ^ set(expected))[0]
        raise EnvironmentFailure(
            f"the ledger is damaged at {odd}",
            where=_folder(environment, harness),
            mend="Entries are numbered from 00000001 without a gap; restore what is missing.",
        )
    return len(keys)


def _read(store: LedgerStore, environment: str, harness: str, sequence: int) -> LedgerEntry:
    return _parse(store.get(_key(environment, harness, sequence)), environment, harness, sequence)


def _parse(data: bytes, environment: str, harness: str, sequence: int) -> LedgerEntry:
    """The entry in ``data``, which must be the one that belongs there."""
    key, mend = _key(environment, harness, sequence), "Restore it from a backup of the store."
    try:
        entry = LedgerEntry.model_validate_json(data)
    except ValidationError as error:
        raise EnvironmentFailure(
            f"the ledger entry cannot be read: {first_problem(error)}", where=key, mend=mend
        ) from error
    place = (entry.environment, entry.harness, entry.sequence)
    if place != (environment, harness, sequence):
        message = f"the ledger entry does not belong here: it is entry {place[2]} of {place[0]}/{place[1]}"
        raise EnvironmentFailure(message, where=key, mend=mend)
    if not isinstance(entry.model.get("digest"), str):
        raise EnvironmentFailure("the ledger entry names no model", where=key, mend=mend)
    if json.loads(data).get("model_digest", entry.model_digest) != entry.model_digest:
        raise EnvironmentFailure("the ledger entry names two models", where=key, mend=mend)
    if entry.previous is not None and not 1 <= entry.previous.sequence < sequence:
        raise EnvironmentFailure(
            f"the ledger entry returns to entry {entry.previous.sequence}, which does not come before it",
            where=key,
            mend=mend,
        )
    return entry


def _damaged(environment: str, harness: str, earlier: int, later: int) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"the ledger is damaged: entry {earlier} is not the one that entry {later} follows",
        where=_folder(environment, harness),
        mend="An entry was altered; restore it from a backup of the store.",
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _folder(environment: str, harness: str) -> str:
    for name in (environment, harness):
        check_name(name)
    return f"ledger/{environment}/{harness}"


def _is_name(text: str) -> bool:
    return re.fullmatch(NAME, text) is not None


def check_name(name: str) -> None:
    """Raises `BadInput` for what cannot be the name of an environment or of a harness."""
    if not _is_name(name):
        raise BadInput(f"{name!r} cannot name a ledger", mend="Use letters, digits, '.', '_' and '-'.")


def _key(environment: str, harness: str, sequence: int) -> str:
    return f"{_folder(environment, harness)}/{sequence:08d}.json"


def _stale(environment: str, harness: str, expected: int, found: int) -> StaleBaseline:
    before = f"entry {expected}" if expected else "nothing"
    return StaleBaseline(
        f"STALE_BASELINE: decided against {before} in production, where there is now entry {found}",
        where=_folder(environment, harness),
        mend="Look at what is in production now: a run is decided again, a rollback may no longer be needed.",
    )


def _identity(proposal: Proposal) -> tuple[str, ...]:
    pair = (proposal.version, proposal.harness_digest, proposal.model_digest)
    return (*pair, proposal.run, proposal.verdict_digest)
