"""The record of a run: what ran, what came out, and where to read about it."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hat.errors import BadInput
from hat.nearest import known_names
from hat.promotion.ledger import StaleBaseline
from hat.runs.watch import is_alive
from hat.steps.entries import StepStatus
from hat.storage import Store
from hat.validation import first_problem

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]
EXIT_STATUS: dict[str | None, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}


class StepRecord(BaseModel):
    """One step as the record tells it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """The step's name in the pipeline."""
    status: StepStatus
    """ran: here; cached: reused from another run; skipped: finished in an earlier attempt, or not needed."""
    seconds: float = 0.0
    """Wall seconds of the work; of the original work when it was reused."""
    reason: str = ""
    """Why it was skipped or failed."""


class ModelDigests(BaseModel):
    """Digests of the models a run touched."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str | None = None
    """The model that training starts from."""
    production: str | None = None
    """The model in production when the run began."""
    candidate: str | None = None
    """The model this run trained."""


class RunError(BaseModel):
    """Why a run failed, as the user was told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str
    """The step that failed; empty when the runner itself did."""
    message: str
    """The one message: what, where, how to mend."""
    exit_status: int
    """The exit status of the command line."""


class RunRecord(BaseModel):
    """`runs/<run>/record.json` in the store, and an entry of `hat runs --json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    """Version of this document's layout."""
    run: str
    """The run's name; sorts by time."""
    harness: str
    """The harness's name."""
    version: str
    """The harness's version."""
    harness_digest: str | None = None
    """Digest of the harness's files."""
    code_version: str
    """SHA-256 of the package sources and constraints."""
    profile: str
    """The profile's name."""
    mode: str
    """auto, train or screen."""
    overrides: dict[str, Any] = {}
    """Settings given with --set."""
    status: Literal["running", "interrupted", "succeeded", "failed"] = "running"
    """Of the run, not of the model: a FAIL verdict is a successful run."""
    verdict: Verdict | None = None
    """The gate's word on the last pair this run judged."""
    trained: bool = False
    """Whether this run's verdict is about a model trained for it."""
    promoted: bool = False
    """Whether the pair is in production because of this run."""
    not_promoted: str = ""
    """Why a pair that passed did not go into production."""
    started: str
    """UTC time of the first attempt, ISO 8601."""
    finished: str | None = None
    """UTC time of the end, ISO 8601."""
    attempts: int = 1
    """1, plus one for each --resume."""
    runner_pid: int = 0
    """Process that drives the run on this machine; 0 on a cluster."""
    steps: tuple[StepRecord, ...] = ()
    """In the pipeline's order."""
    models: ModelDigests = ModelDigests()
    """Digests of the models involved."""
    error: RunError | None = None
    """Why it failed."""
    report: str | None = None
    """Where the HTML report is."""

    @property
    def exit_status(self) -> int:
        """The command line's exit status for this run (DESIGN, command line)."""
        if self.error is not None:
            return self.error.exit_status
        return EXIT_STATUS.get(self.verdict, 4)

    @property
    def lost_race(self) -> bool:
        """Whether the pair passed, and another went into production first: STALE_BASELINE."""
        return (
            self.error is not None
            and self.error.step == "promote"
            and self.error.exit_status == StaleBaseline.exit_status
        )

    def as_seen_now(self) -> "RunRecord":
        """The record, with a run whose driving process is gone called interrupted."""
        if self.status == "running" and self.runner_pid and not is_alive(self.runner_pid):
            return self.model_copy(update={"status": "interrupted"})
        return self


def record_key(run: str) -> str:
    """The record's key in the store."""
    return f"runs/{run}/record.json"


def report_key(run: str) -> str:
    """The HTML report's key in the store."""
    return f"runs/{run}/report.html"


def write_record(store: Store, record: RunRecord) -> None:
    """Put a record in the store, replacing the run's earlier one."""
    text = json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    store.put(record_key(record.run), text.encode("utf-8"))


def read_record(store: Store, run: str) -> RunRecord:
    """The record of one run.

    Raises:
        BadInput: no such run, or a record that cannot be read.
    """
    if not store.exists(record_key(run)):
        known = run_names(store)
        mend = (
            f"{known_names(run, known, shown=3)} `hat runs` lists them."
            if known
            else "No run has been made yet."
        )
        raise BadInput(f"there is no run {run!r}", where=store.url, mend=mend)
    try:
        return RunRecord.model_validate_json(store.get(record_key(run)))
    except ValidationError as error:
        message = f"malformed run record: {first_problem(error)}"
        mend = "Restore it from a backup of the store, or remove it: the run's models and verdict do not need it."
        raise BadInput(message, where=record_key(run), mend=mend) from error


def run_names(store: Store) -> list[str]:
    """Names of all runs that have a record, newest first."""
    keys = store.list("runs")
    return sorted((key.split("/")[1] for key in keys if key.endswith("/record.json")), reverse=True)


def list_records(store: Store) -> tuple[list[RunRecord], list[BadInput]]:
    """All records that can be read, newest first; and of each other one what is wrong with it."""
    records, unreadable = [], []
    for run in run_names(store):
        try:
            records.append(read_record(store, run))
        except BadInput as error:
            unreadable.append(error)
    return records, unreadable
