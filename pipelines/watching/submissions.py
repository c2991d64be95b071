"""What was submitted: one document for each (profile, harness, version digest, attempt), claimed before the run exists.

The claim is a conditional write, so of two watchers one submits. It names the run before the run is made: a watcher
that was killed in between leaves a claim without a run id, and the next one looks for a run of that name first.
"""

import json
import os
import socket
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict, ValidationError

from hat.errors import EnvironmentFailure
from hat.storage import Conflict, Store
from hat.validation import first_problem

LEASE = timedelta(seconds=300)
"""How long a claim without a run keeps others away: several times what creating a run may take."""


class Submission(BaseModel):
    """`submissions/<profile>/<harness>/<digest>/<attempt>.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    """Version of this document's layout."""
    profile: str
    """The profile that the run was compiled for."""
    harness: str
    """The harness's name."""
    version: str
    """The harness's version."""
    harness_digest: str
    """Digest of the version's files."""
    attempt: int
    """1, and one more for each run that ended without doing its work."""
    commit: str
    """The commit of the registry at which it was found; what a status is reported on."""
    run_name: str
    """The run's name on the cluster, which no other submission has."""
    holder: str
    """Who claimed it: host and process."""
    claimed: str
    """UTC time of the claim, ISO 8601."""
    run_id: str = ""
    """The run's id on the cluster, once it is known to exist."""
    state: str = ""
    """The run's state on the cluster when it was last asked."""
    ended: bool = False
    """Whether the state is final."""
    verdict: str = ""
    """The gate's word, from the run's record."""
    lost_race: bool = False
    """Whether its pair passed and another went into production first (STALE_BASELINE)."""

    @property
    def key(self) -> str:
        """The document's key in the store."""
        return f"{prefix(self.profile, self.harness)}/{self.harness_digest}/{self.attempt:04d}.json"


def prefix(profile: str, harness: str) -> str:
    """Where the submissions of a harness are."""
    return f"submissions/{profile}/{harness}"


def read_submissions(store: Store, profile: str, harness: str) -> list[Submission]:
    """All submissions of a harness, by digest and attempt.

    Raises:
        EnvironmentFailure: one cannot be read.
    """
    keys = store.list(prefix(profile, harness))
    return [_parse(key, store.get(key)) for key in keys if key.rsplit("/", 1)[-1] != START]


def claim(store: Store, wanted: Submission, now: datetime) -> Submission | None:
    """``wanted`` as claimed by this process; None while another's claim holds, or when the run is known already.

    A claim older than `LEASE` is taken over: its run's name stays. Whether the holder is alive does not count: what
    it sent may still be on its way.
    """
    mine = {"holder": this_process(), "claimed": now.isoformat(timespec="seconds")}
    claimed = wanted.model_copy(update=mine)
    try:
        store.put(wanted.key, _text(claimed), if_absent=True)
        return claimed
    except Conflict:
        pass
    stored = store.read(wanted.key)
    there = _parse(wanted.key, stored.data)
    if there.run_id or not _is_free(there, now):
        return None
    claimed = there.model_copy(update=mine)
    try:
        store.put(wanted.key, _text(claimed), if_match=stored.etag)
    except Conflict:
        return None
    return claimed


def release(store: Store, submission: Submission) -> None:
    """Let anyone take a claim over at once: its run was refused, so that it certainly does not exist."""
    write(store, submission.model_copy(update={"holder": ""}))


def write(store: Store, submission: Submission) -> None:
    """Replace a submission's document."""
    store.put(submission.key, _text(submission))


def is_expired(submission: Submission, now: datetime) -> bool:
    """Whether half the lease is over: its holder must no longer create the run, since another soon may."""
    return now - datetime.fromisoformat(submission.claimed) > LEASE / 2


def this_process() -> str:
    """Host and process, as a claim names its holder."""
    return f"{socket.gethostname()}:{os.getpid()}"


START = "start.json"


def adopt(store: Store, profile: str, harness: str, old: dict[str, str]) -> set[str]:
    """Digests of the versions that were history when this harness was first watched; written once.

    Args:
        old: digest -> version of the versions that are not newer than what is in production now.
    """
    key = f"{prefix(profile, harness)}/{START}"
    document = {"schema_version": 1, "history": old}
    try:
        store.put(key, (json.dumps(document, indent=2) + "\n").encode("utf-8"), if_absent=True)
        return set(old)
    except Conflict:
        return set(json.loads(store.get(key))["history"])


def _is_free(submission: Submission, now: datetime) -> bool:
    return not submission.holder or now - datetime.fromisoformat(submission.claimed) > LEASE


def _parse(key: str, data: bytes) -> Submission:
    try:
        return Submission.model_validate_json(data)
    except ValidationError as error:
        raise EnvironmentFailure(
            f"the submission cannot be read: {first_problem(error)}", where=key
        ) from error


def _text(submission: Submission) -> bytes:
    return (json.dumps(submission.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n").encode(
        "utf-8"
    )


def utc_now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)
