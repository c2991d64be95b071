"""A whole pass of `hat watch`: revision, registry, runs, channels, commit statuses."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hat.errors import HatError
from hat.harness.registry import Registry
from hat.runs.places import open_run_store
from hat.storage import Store
from pipelines import kubeflow
from pipelines.compile import compile_profile
from pipelines.kubeflow import Address, Connection, Reference
from pipelines.start import RunRequest
from pipelines.submit import check_cluster_order
from pipelines.watching.channels import push_channels
from pipelines.watching.forge import Forge, State, Status, report
from pipelines.watching.order import Outcome, WatchOrder
from pipelines.watching.reconcile import Cluster, reconcile
from pipelines.watching.repository import Repository


@dataclass(frozen=True)
class Source:
    """Where harnesses come from."""

    repository: Repository
    revision: str
    folder: str = "harness_registry"
    """The registry's path in the repository."""
    fetch: bool = False
    """Whether remotes are asked for news before each pass."""


@dataclass(frozen=True)
class Reports:
    """Where a pass is told besides the terminal."""

    forge: Forge | None = None
    push_branch: str | None = None
    """Branch of `origin` that `channels.yaml` is pushed to; None: not written."""
    channel: str = "production"


def watch_once(
    order: WatchOrder, source: Source, address: Address, reports: Reports, say: Callable[[str], None]
) -> list[Outcome]:
    """One pass. ``say`` gets remarks that do not stop it, such as a forge that does not answer.

    Raises:
        BadInput: settings, images or the revision are wrong.
        EnvironmentFailure: the repository, the store or the cluster fails.
    """
    check_cluster_order(RunRequest("", None, order.profile, "auto", dict(order.overrides)), order.images)
    store = open_run_store()
    store.preflight()
    if source.fetch:
        source.repository.fetch()
    commit = source.repository.commit(source.revision)
    connection = Connection(address)
    connection.check()
    outcomes: list[Outcome] = []
    with registry_at(source, commit) as registry:
        cluster = Cluster(connection, cache(lambda: _publish(order, connection)))
        try:
            for outcome in reconcile(order, registry, commit, store, cluster):
                outcomes.append(outcome)
        finally:  # what was done is reported, also when the cluster goes away in the middle
            _report(order, store, reports, address, outcomes, say)
    if reports.push_branch is not None:
        pushed = push_channels(
            source.repository,
            reports.push_branch,
            source.folder,
            store,
            lambda parent: registry_at(source, parent),
            (order.ledger, reports.channel),
        )
        if pushed:
            say(f"channels.yaml pushed to {reports.push_branch}: {pushed[:12]}")
    return outcomes


@contextmanager
def registry_at(source: Source, commit: str) -> Iterator[Registry]:
    """The registry as it is at a commit, in a folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="hat-watch-") as folder:
        source.repository.export(commit, source.folder, Path(folder))
        yield Registry(Path(folder))


def _publish(order: WatchOrder, connection: Connection) -> Reference:
    with tempfile.TemporaryDirectory(prefix="hat-watch-compile-") as folder:
        return kubeflow.publish_pipeline(
            connection, compile_profile(order.profile, Path(folder), order.images)
        )


def _report(
    order: WatchOrder,
    store: Store,
    reports: Reports,
    address: Address,
    outcomes: list[Outcome],
    say: Callable[[str], None],
) -> None:
    if reports.forge is None:
        return
    for outcome in outcomes:
        state = status_state(outcome)
        if state is None or not outcome.commit:
            continue
        context = f"hat/{order.name}/{outcome.harness}@{outcome.version}"
        target = f"{address.endpoint}/#/runs/details/{outcome.run_id}" if outcome.run_id else ""
        status = Status(outcome.commit, context, state, f"{outcome.kind}: {outcome.note}", target)
        try:
            report(store, order.name, reports.forge, status)
        except HatError as error:  # a forge that is down must not keep runs from being submitted
            say(str(error))


def status_state(outcome: Outcome) -> State | None:
    """The commit status of an outcome; None where there is nothing to say."""
    if outcome.kind in ("submitted", "running", "held"):
        return "pending"
    if outcome.kind == "refused":
        return "failure"
    if outcome.kind == "finished":
        if outcome.state != "SUCCEEDED":  # a verdict that a later step could not act on, or none
            return "error"
        by_verdict: dict[str, State] = {"PASS": "success", "FAIL": "failure"}
        return by_verdict.get(outcome.verdict, "error")
    return None
