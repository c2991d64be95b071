"""One pass of the watcher over a registry: submit what is missing, ask after what runs.

State-based: it compares the versions that are there with the submissions that are there, and never walks history. So
several versions in one push, a rewritten history, a deleted folder or an hour without a cluster are nothing special.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from hat.errors import BadInput, EnvironmentFailure
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.promotion.ledger import production
from hat.promotion.semver import precedence
from hat.runs.harness_archive import publish_harness
from hat.runs.record import RunRecord, read_record, record_key
from hat.storage import Store
from pipelines import kubeflow
from pipelines.deciding import DECISIONS
from pipelines.kubeflow import Connection, KubeflowRun, Reference
from pipelines.kubeflow.connection import NotThere
from pipelines.start import RunRequest
from pipelines.submit import run_arguments, run_name
from pipelines.watching import submissions
from pipelines.watching.order import Kind, Outcome, WatchOrder
from pipelines.watching.submissions import Submission

HOLD = "hold"
"""A file of this name in the registry or in a harness's folder stops new runs; its text is the reason."""


@dataclass(frozen=True)
class Cluster:
    """What a pass needs of the cluster. The pipeline is published only when there is something to submit."""

    connection: Connection
    pipeline: Callable[[], Reference]


def reconcile(
    order: WatchOrder,
    registry: Registry,
    commit: str,
    store: Store,
    cluster: Cluster,
    now: Callable[[], datetime] = submissions.utc_now,
) -> Iterator[Outcome]:
    """Bring every version of every harness up to date, one outcome each, oldest version first.

    Raises:
        EnvironmentFailure: the store or the cluster fails; what was done stays, and the next pass goes on.
    """
    for name in registry.names():
        done = {(each.harness_digest, each.attempt): each for each in _read(order, store, name)}
        known_versions = {each.version: each.harness_digest for each in done.values()}
        loaded: dict[str, Harness] = {}
        for version in registry.versions(name):
            try:
                loaded[version] = _load(registry, name, version, known_versions)
            except BadInput as error:
                yield Outcome(name, version, "refused", error.what, commit=commit)
        history = _history(order, store, name, loaded, known_versions)
        hold = _hold(registry, name)
        for version, harness in loaded.items():
            last = max(
                (each for each in done.values() if each.harness_digest == harness.digest),
                key=lambda each: each.attempt,
                default=None,
            )
            if last is None and harness.digest in history:
                yield Outcome(name, version, "history", "not newer than production at the first pass")
                continue
            if last is not None and last.run_id:
                last = _ask(store, cluster.connection, last)
                if not _again(order, last):
                    yield _outcome(last)
                    continue
            if hold is not None:
                yield Outcome(name, version, "held", hold, digest=harness.digest, commit=commit)
                continue
            yield _submit(order, registry, store, cluster, _wanted(order, harness, commit, last), now)


def _read(order: WatchOrder, store: Store, name: str) -> list[Submission]:
    return submissions.read_submissions(store, order.name, name)


def _load(registry: Registry, name: str, version: str, known: dict[str, str]) -> Harness:
    """The version, if it may be submitted. Raises `BadInput` saying why not."""
    harness = registry.load(name, version)
    if version not in registry.locked(name):
        raise BadInput(f"not in versions.lock: run `hat harness lock {name}`", where=f"{name}@{version}")
    if known.get(version, harness.digest) != harness.digest:
        raise BadInput(
            "submitted before with other files; a change needs a new version", where=f"{name}@{version}"
        )
    return harness


def _history(
    order: WatchOrder, store: Store, name: str, loaded: dict[str, Harness], known: dict[str, str]
) -> set[str]:
    """Digests that are never submitted: versions that production was past when this harness was first watched."""
    head = production(store, order.ledger, name)
    old = {}
    if head is not None:
        old = {
            harness.digest: version
            for version, harness in loaded.items()
            if precedence(version) <= precedence(head.version) and version not in known
        }
    return submissions.adopt(store, order.name, name, old)


def _hold(registry: Registry, name: str) -> str | None:
    for path in (registry.root / HOLD, registry.root / name / HOLD):
        if path.is_file():
            return path.read_text(encoding="utf-8", errors="replace").strip() or "on hold"
    return None


def _again(order: WatchOrder, last: Submission) -> bool:
    """Whether a run that ended without doing its work is to be followed by another. A verdict is work done.

    The loser of a race is decided again, whatever `attempts` says: its pair was compared with what is not in production
    any more. What it trained is reused.
    """
    if last.lost_race and last.attempt < order.attempts + DECISIONS - 1:
        return True
    return last.ended and last.state in ("FAILED", "CANCELED", "DELETED") and last.attempt < order.attempts


def _wanted(order: WatchOrder, harness: Harness, commit: str, last: Submission | None) -> Submission:
    """The submission that is missing: the one that was never given a run, or the next attempt."""
    if last is not None and not last.run_id:
        return last
    attempt = last.attempt + 1 if last is not None else 1
    # The digest is in the name too, so that no other submission's run can be taken for this one's.
    name = run_name(harness, commit, f"{order.name} {harness.digest[:8]} #{attempt}")
    return Submission(
        profile=order.name,
        harness=harness.name,
        version=harness.version,
        harness_digest=harness.digest,
        attempt=attempt,
        commit=commit,
        run_name=name,
        holder="",
        claimed="",
    )


def _submit(
    order: WatchOrder,
    registry: Registry,
    store: Store,
    cluster: Cluster,
    wanted: Submission,
    now: Callable[[], datetime],
) -> Outcome:
    experiment = kubeflow.experiment_id(cluster.connection, order.experiment or wanted.harness)
    reference = cluster.pipeline()
    harness = publish_harness(store, registry, wanted.harness, wanted.version)
    claimed = submissions.claim(store, wanted, now())
    # A claim that was taken over keeps the name that its first holder gave it, under which a run may exist.
    wanted = claimed or wanted
    try:
        run = kubeflow.find_run(cluster.connection, wanted.run_name, experiment)
        if run is None and claimed is None:
            note = "another watcher submits it, or was killed while it did: retried when its claim ends"
            return Outcome(wanted.harness, wanted.version, "busy", note, digest=harness.digest)
        if run is None:
            if submissions.is_expired(wanted, now()):
                mend = "The next pass does it."
                raise EnvironmentFailure(
                    "the claim is too old to create its run", where=wanted.key, mend=mend
                )
            request = RunRequest(harness.name, harness.version, order.profile, "auto", dict(order.overrides))
            arguments = run_arguments(request, harness)
            run = kubeflow.create_run(cluster.connection, wanted.run_name, experiment, reference, arguments)
    except BadInput as error:  # refused, so there is no run
        if claimed is not None:
            submissions.release(store, claimed)
        return Outcome(wanted.harness, wanted.version, "refused", error.what, commit=wanted.commit)
    submitted = wanted.model_copy(update={"run_id": run.run_id, "state": run.state})
    submissions.write(store, submitted)
    return replace(_outcome(submitted), kind="submitted", note=wanted.run_name)


def _ask(store: Store, connection: Connection, known: Submission) -> Submission:
    """The submission with its run's state now, written when that changed."""
    if known.ended:
        return known
    try:
        run = kubeflow.get_run(connection, known.run_id)
    except NotThere:
        run = KubeflowRun(known.run_id, known.run_name, "DELETED")
    ended = run.ended or run.state == "DELETED"
    record = _record(store, run.run_id) if ended else None
    update = {
        "state": run.state,
        "ended": ended,
        "verdict": (record.verdict or "") if record else "",
        "lost_race": record is not None and record.lost_race,
    }
    asked = known.model_copy(update=update)
    if asked != known:
        submissions.write(store, asked)
    return asked


def _record(store: Store, run_id: str) -> RunRecord | None:
    """What the run's last step wrote; None where it did not get to run."""
    return read_record(store, run_id) if store.exists(record_key(run_id)) else None


def _outcome(submission: Submission) -> Outcome:
    kind: Kind = "finished" if submission.ended else "running"
    without = f"no verdict: {submission.state}" if submission.ended else submission.state
    note = submission.verdict or without
    if submission.lost_race:
        note = f"STALE_BASELINE after {submission.attempt} decisions: another pair went into production each time"
    return Outcome(
        submission.harness,
        submission.version,
        kind,
        note,
        run_id=submission.run_id,
        digest=submission.harness_digest,
        commit=submission.commit,
        verdict=submission.verdict,
        state=submission.state,
    )
