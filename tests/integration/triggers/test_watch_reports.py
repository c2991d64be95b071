"""What a pass tells others: commit statuses on the forge, and `channels.yaml` pushed from the ledger."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from hat.promotion.ledger import rollback
from hat.storage import Store
from pipelines.kubeflow import Address
from pipelines.watching import watch
from pipelines.watching.forge import Forge
from pipelines.watching.order import Outcome
from pipelines.watching.repository import open_repository
from pipelines.watching.watch import Reports, Source, watch_once
from tests.integration.triggers.conftest import ORDER, Checkout, put_in_production
from tests.support.kubeflow_server import KubeflowServer

pytestmark = pytest.mark.usefixtures("fast_compiler")


def test_a_pass_that_was_not_acted_on_is_no_success_on_the_forge() -> None:
    passed = Outcome("live-shop", "1.0.0", "finished", verdict="PASS", state="SUCCEEDED")
    assert watch.status_state(passed) == "success"
    assert watch.status_state(replace(passed, state="FAILED")) == "error"


def test_two_watchers_commit_in_one_clone_at_once(checkout: Checkout) -> None:
    repository = open_repository(str(checkout.folder))
    parent = repository.commit("HEAD")
    start = threading.Barrier(4)
    made: list[str] = []

    def commit(number: int) -> None:
        start.wait()
        files = {"harness_registry/live-shop/channels.yaml": f"written: {number}\n"}
        made.append(repository.commit_files(parent, files, "Channels"))

    threads = [threading.Thread(target=commit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = {repository.read(each, "harness_registry/live-shop/channels.yaml") for each in made}
    assert texts == {f"written: {number}\n".encode() for number in range(4)}
    assert checkout.git("status", "--porcelain") == ""


class ForgeServer:
    """Takes commit statuses as GitHub and Gitea do."""

    def __init__(self) -> None:
        self.statuses: list[tuple[str, dict[str, str]]] = []
        self.answer = 201
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.headers["Authorization"] == "Bearer secret"
                if outer.answer == 201:
                    outer.statuses.append((self.path.rsplit("/", 1)[-1], body))
                self.send_response(outer.answer)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/repos/o/n"


def test_the_forge_is_told_each_state_once_on_the_commit_that_brought_the_version(
    one_pass: Callable[..., dict[str, str]],
    server: KubeflowServer,
    store: Store,
    checkout: Checkout,
    tmp_path: Path,
) -> None:
    forge = ForgeServer()
    (tmp_path / "token").write_text("secret\n")
    reports = Reports(forge=Forge(forge.url, tmp_path / "token"))
    first = checkout.git("rev-parse", "HEAD")
    forge.answer = 500
    assert one_pass(reports=reports) == {"live-shop@1.0.0": "submitted"}  # in spite of the forge
    forge.answer = 201
    checkout.commit("something else")
    one_pass(reports=reports)
    one_pass(reports=reports)
    server.finish(next(iter(server.runs)), "FAILED")
    one_pass(reports=reports)
    one_pass(reports=reports)
    assert [(commit, body["state"]) for commit, body in forge.statuses] == [
        (first, "pending"),
        (first, "error"),
    ]
    assert forge.statuses[0][1]["context"] == "hat/tiny/live-shop@1.0.0"
    forge.http.shutdown()


def test_channels_are_pushed_when_the_ledger_moves_and_start_nothing(
    server: KubeflowServer, store: Store, checkout: Checkout, tmp_path: Path
) -> None:
    origin = tmp_path / "origin.git"
    checkout.git("clone", "-q", "--bare", str(checkout.folder), str(origin))
    repository = open_repository(f"file://{origin}")
    source = Source(repository, "origin/main", fetch=True)
    reports = Reports(push_branch="main")

    def one() -> list[Outcome]:
        return watch_once(ORDER, source, Address(server.url), reports, print)

    def channels() -> str:
        repository.fetch()
        text = repository.read(repository.commit("origin/main"), "harness_registry/live-shop/channels.yaml")
        return text.decode() if text else ""

    one()
    put_in_production(store, "1.0.0")
    one()
    written = channels()
    assert "version: 1.0.0" in written
    assert "sequence: 1" in written
    before = repository.commit("origin/main")
    assert [each.kind for each in one()] == ["running"]
    repository.fetch()
    assert repository.commit("origin/main") == before  # nothing to say, nothing pushed
    put_in_production(store, "1.1.0", head=1)
    rollback(store, "tiny", "live-shop", reason="r", who="t", when="2026-01-02T00:00:00+00:00")
    one()
    assert "sequence: 3" in channels()
    assert "version: 1.0.0" in channels()
    assert len(server.runs) == 1


def test_channels_of_other_environments_stay(store: Store) -> None:
    from hat.promotion.channels import render_channels

    put_in_production(store, "1.0.0")
    from hat.promotion.ledger import production

    first = render_channels("", "production", production(store, "tiny", "live-shop"), where="f")
    second = render_channels(first, "staging", production(store, "tiny", "live-shop"), where="f")
    assert "production:" in second
    assert "staging:" in second
    again = production(store, "tiny", "live-shop")
    assert render_channels(second, "staging", again, where="f") == second
