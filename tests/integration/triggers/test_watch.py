"""The watcher: every property that makes it safe to run at any time, from anywhere, as often as one likes."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hat.errors import EnvironmentFailure
from hat.promotion.ledger import StaleBaseline
from hat.runs.record import RunError, write_record
from hat.storage import Store
from pipelines.deciding import DECISIONS
from pipelines.kubeflow import Address
from pipelines.watching import submissions
from pipelines.watching.order import WatchOrder
from pipelines.watching.repository import Repository
from pipelines.watching.watch import Reports, Source, watch_once
from tests.integration.triggers.conftest import IMAGES, ORDER, Checkout, a_record, names, put_in_production
from tests.support.kubeflow_server import Fault, KubeflowServer, serving

pytestmark = pytest.mark.usefixtures("fast_compiler")


def test_a_new_version_is_submitted_once_and_its_harness_is_in_the_store(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, store: Store, checkout: Checkout
) -> None:
    assert one_pass() == {"live-shop@1.0.0": "submitted"}
    assert one_pass() == {"live-shop@1.0.0": "running"}
    (name,) = names(server)
    commit = checkout.git("rev-parse", "HEAD")
    assert name.startswith(f"live-shop 1.0.0 {commit[:12]} ")
    assert any(key.endswith(".tar") for key in store.list("harnesses/live-shop/1.0.0"))
    (run,) = server.runs.values()
    assert run["pipeline_version_reference"]["pipeline_version_id"]


def test_no_version_is_skipped_when_several_land_in_one_push(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, checkout: Checkout
) -> None:
    one_pass()
    checkout.add_version("1.1.0")
    checkout.add_version("1.2.0")
    checkout.add_version("1.0.0", of="other-shop")
    checkout.commit()
    assert one_pass() == {
        "live-shop@1.0.0": "running",
        "live-shop@1.1.0": "submitted",
        "live-shop@1.2.0": "submitted",
        "other-shop@1.0.0": "submitted",
    }
    assert [name.split()[1] for name in names(server) if name.startswith("live")] == [
        "1.0.0",
        "1.1.0",
        "1.2.0",
    ]


def test_a_later_version_that_is_promoted_first_does_not_skip_an_earlier_one(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, store: Store, checkout: Checkout
) -> None:
    one_pass()
    put_in_production(store, "2.0.0")
    checkout.add_version("1.1.0")
    checkout.commit()
    assert one_pass()["live-shop@1.1.0"] == "submitted"


def test_versions_that_production_was_past_at_the_first_pass_are_history(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, store: Store, checkout: Checkout
) -> None:
    put_in_production(store, "1.0.0")
    checkout.add_version("1.1.0")
    checkout.commit()
    expected = {"live-shop@1.0.0": "history", "live-shop@1.1.0": "submitted"}
    assert one_pass() == expected
    assert one_pass() == {**expected, "live-shop@1.1.0": "running"}


def test_a_commit_that_changes_no_harness_starts_nothing(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, checkout: Checkout
) -> None:
    one_pass()
    (checkout.folder / "README.md").write_text("new")
    (checkout.registry / "live-shop" / "gate.yaml").write_text(
        (checkout.registry / "live-shop" / "gate.yaml").read_text() + "\n# a comment\n"
    )
    checkout.commit()
    assert one_pass() == {"live-shop@1.0.0": "running"}
    assert len(server.runs) == 1


def test_only_what_is_committed_counts(one_pass: Callable[..., dict[str, str]], checkout: Checkout) -> None:
    checkout.add_version("1.1.0")
    assert set(one_pass()) == {"live-shop@1.0.0"}


def test_a_hold_file_stops_new_runs_until_it_is_gone(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, checkout: Checkout
) -> None:
    hold = checkout.registry / "live-shop" / "hold"
    hold.write_text("stocktaking")
    checkout.commit()
    assert one_pass() == {"live-shop@1.0.0": "held"}
    hold.unlink()
    (checkout.registry / "hold").write_text("everything")
    checkout.commit()
    assert one_pass() == {"live-shop@1.0.0": "held"}
    assert not server.runs
    (checkout.registry / "hold").unlink()
    checkout.commit()
    assert one_pass() == {"live-shop@1.0.0": "submitted"}


def test_a_broken_version_is_refused_and_the_others_go_on(
    one_pass: Callable[..., dict[str, str]], checkout: Checkout
) -> None:
    checkout.add_version("1.1.0")
    checkout.add_version("1.2.0")
    (checkout.registry / "live-shop" / "versions" / "1.1.0" / "harness.yaml").write_text("name: [")
    checkout.commit()
    assert one_pass() == {
        "live-shop@1.1.0": "refused",
        "live-shop@1.0.0": "submitted",
        "live-shop@1.2.0": "submitted",
    }


def test_a_version_that_is_not_locked_is_refused(
    one_pass: Callable[..., dict[str, str]], checkout: Checkout
) -> None:
    (checkout.registry / "live-shop" / "versions.lock").unlink()
    checkout.commit()
    assert one_pass() == {"live-shop@1.0.0": "refused"}


def test_history_rewritten_by_force_starts_nothing_again_and_a_changed_version_is_refused(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, checkout: Checkout
) -> None:
    one_pass()
    checkout.git("checkout", "-q", "--orphan", "rewritten")
    checkout.commit("the same files, another history")
    checkout.git("branch", "-q", "-D", "main")
    checkout.git("branch", "-q", "-m", "main")
    assert one_pass(revision="main") == {"live-shop@1.0.0": "running"}

    manifest = checkout.registry / "live-shop" / "versions" / "1.0.0" / "harness.yaml"
    manifest.write_text(manifest.read_text() + "# changed\n")
    (checkout.registry / "live-shop" / "versions.lock").unlink()
    checkout.add_version("1.0.1")
    checkout.git("add", "-A")
    checkout.git("commit", "-q", "--amend", "-m", "a merged version, changed with its lock")
    assert one_pass(revision="main") == {"live-shop@1.0.0": "refused", "live-shop@1.0.1": "submitted"}
    assert len(server.runs) == 2


def test_a_deleted_harness_is_left_alone(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, checkout: Checkout
) -> None:
    checkout.add_version("1.0.0", of="other-shop")
    checkout.commit()
    one_pass()
    checkout.git("rm", "-r", "-q", "harness_registry/live-shop")
    checkout.commit()
    assert one_pass() == {"other-shop@1.0.0": "running"}
    assert len(server.runs) == 2


def test_it_catches_up_when_the_cluster_was_down(
    checkout: Checkout, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(Repository(checkout.folder), "HEAD")
    with pytest.raises(EnvironmentFailure, match="cannot be reached"):
        watch_once(ORDER, source, Address("http://127.0.0.1:9"), Reports(), print)
    checkout.add_version("1.1.0")
    checkout.commit()
    with serving(KubeflowServer()) as server:
        outcomes = watch_once(ORDER, source, Address(server.url), Reports(), print)
        assert [each.kind for each in outcomes] == ["submitted", "submitted"]


def test_a_cluster_that_goes_away_in_the_middle_loses_and_doubles_nothing(
    one_pass: Callable[..., dict[str, str]],
    server: KubeflowServer,
    checkout: Checkout,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkout.add_version("1.1.0")
    checkout.commit()
    server.faults = [Fault(200, "POST", "/runs"), Fault(500, "POST", "/runs", after=True)]
    with pytest.raises(EnvironmentFailure):
        one_pass()
    assert len(server.runs) == 2
    # The second run exists although its answer was lost: it is found by its name, without waiting for the claim.
    assert one_pass() == {"live-shop@1.0.0": "running", "live-shop@1.1.0": "submitted"}
    assert one_pass() == {"live-shop@1.0.0": "running", "live-shop@1.1.0": "running"}
    assert len(server.runs) == 2


def test_a_watcher_killed_before_its_run_exists_is_followed_up_when_its_claim_ends(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults = [Fault(500, "POST", "/runs")]  # nothing came of it
    with pytest.raises(EnvironmentFailure):
        one_pass()
    assert one_pass() == {"live-shop@1.0.0": "busy"}
    later = submissions.utc_now() + submissions.LEASE + timedelta(seconds=1)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return later

    monkeypatch.setattr(submissions, "datetime", Later)
    assert one_pass() == {"live-shop@1.0.0": "submitted"}
    assert len(server.runs) == 1


def test_of_many_watchers_at_once_one_submits(
    checkout: Checkout, server: KubeflowServer, store: Store
) -> None:
    checkout.add_version("1.1.0")
    checkout.commit()
    start = threading.Barrier(4)
    failures: list[Exception] = []

    def watcher() -> None:
        start.wait()
        try:
            watch_once(
                ORDER, Source(Repository(checkout.folder), "HEAD"), Address(server.url), Reports(), print
            )
        except Exception as error:  # noqa: BLE001  told below
            failures.append(error)

    threads = [threading.Thread(target=watcher) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(name.split()[1] for name in names(server)) == ["1.0.0", "1.1.0"]


def test_a_run_that_ended_without_a_verdict_is_tried_again_as_often_as_told(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer
) -> None:
    twice = WatchOrder("tiny", IMAGES, attempts=2)
    one_pass(twice)
    server.finish(next(iter(server.runs)), "FAILED")
    assert one_pass() == {"live-shop@1.0.0": "finished"}
    assert one_pass(twice) == {"live-shop@1.0.0": "submitted"}
    server.finish(list(server.runs)[-1], "FAILED")
    assert one_pass(twice) == {"live-shop@1.0.0": "finished"}
    assert [name.rsplit("#", 1)[1] for name in names(server)] == ["1", "2"]


def test_a_fail_verdict_is_work_done_and_not_tried_again(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, store: Store
) -> None:
    one_pass()
    (run,) = server.runs
    server.finish(run, "SUCCEEDED")
    write_record(store, a_record(run, "succeeded", "FAIL"))
    assert one_pass(WatchOrder("tiny", IMAGES, attempts=3)) == {"live-shop@1.0.0": "finished"}
    assert len(server.runs) == 1


def test_the_loser_of_a_race_is_decided_again_but_not_for_ever(
    one_pass: Callable[..., dict[str, str]], server: KubeflowServer, store: Store
) -> None:
    lost = RunError(step="promote", message="STALE_BASELINE: ...", exit_status=StaleBaseline.exit_status)
    for decided in range(1, DECISIONS + 1):
        assert one_pass() == {"live-shop@1.0.0": "submitted"}
        assert len(server.runs) == decided
        run = list(server.runs)[-1]
        server.finish(run, "FAILED")
        write_record(store, a_record(run, "failed", "PASS", lost))
    assert one_pass() == {"live-shop@1.0.0": "finished"}
    assert len(server.runs) == DECISIONS
    (last,) = (
        each for each in submissions.read_submissions(store, "tiny", "live-shop") if each.attempt == DECISIONS
    )
    assert last.lost_race


def test_a_claim_that_is_taken_over_keeps_its_name_and_so_finds_its_run(store: Store) -> None:
    def wanted(name: str) -> submissions.Submission:
        values = {"profile": "tiny", "harness": "live-shop", "version": "1.0.0", "harness_digest": "d"}
        return submissions.Submission(**values, attempt=1, commit=name, run_name=name, holder="", claimed="")

    start = submissions.utc_now().replace(microsecond=0)
    first = submissions.claim(store, wanted("first"), start)
    assert first is not None
    assert submissions.claim(store, wanted("second"), start + submissions.LEASE) is None
    later = start + submissions.LEASE + timedelta(seconds=2)
    taken = submissions.claim(store, wanted("second"), later)
    assert taken is not None
    assert taken.run_name == "first"
    assert submissions.is_expired(first, later)
    submissions.write(store, taken.model_copy(update={"run_id": "r"}))
    assert submissions.claim(store, wanted("third"), later + 2 * submissions.LEASE) is None
