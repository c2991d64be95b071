"""The ledger on both kinds of store, a folder and a real SeaweedFS: races between processes, crashes, restarts."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hat.errors import BadInput
from hat.promotion import ledger
from hat.promotion.archive import archive_evidence, evidence_place
from hat.promotion.evidence import load_evidence
from hat.promotion.ledger import Proposal, StaleBaseline
from hat.storage import Store, open_store
from tests.support.seaweedfs import BUCKET, Server, address

TURNS = 100
WHERE = ("laptop", "live-shop")
EVIDENCE = Path(__file__).parents[2] / "data" / "evidence" / "sound"

CONTENDER = """
import json, sys
from hat.promotion import ledger
from hat.storage import open_store
url, name = sys.argv[1:]
store = open_store(url)
for line in sys.stdin:
    turn = int(line)
    proposal = ledger.Proposal(
        environment="laptop", harness="live-shop", version=f"1.{turn}.0", harness_digest=f"h{turn}",
        model={"digest": f"model {turn} {name}"}, run=f"run {turn} {name}", verdict_digest=f"v {turn} {name}",
        evidence_digest="e", who=name, when="2026-01-01T00:00:00+00:00", reason="race")
    try:
        entry = ledger.promote(store, proposal, expected_head=turn)
        print(json.dumps(["won", entry.sequence]), flush=True)
    except ledger.StaleBaseline as error:
        print(json.dumps(["lost", str(error)]), flush=True)
"""


@pytest.fixture(params=["folder", "seaweedfs"])
def url(request: pytest.FixtureRequest, tmp_path: Path, credentials: None) -> str:
    """The address of an empty store."""
    if request.param == "folder":
        return str(tmp_path / "store")
    return address(request.getfixturevalue("server"), f"{BUCKET}/{uuid4().hex}")


@pytest.fixture
def contenders(url: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Two processes that promote when told a turn, as two pipelines that finish together."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen([sys.executable, "-c", CONTENDER, url, name], **pipes)  # type: ignore[call-overload]
        for name in ("one", "other")
    ]
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def test_two_processes_promote_at_once_a_hundred_times_with_one_winner_each_and_no_lost_history(
    url: str, contenders: list[Any]
) -> None:
    winners = []
    for turn in range(TURNS):
        for process in contenders:
            process.stdin.write(f"{turn}\n")
            process.stdin.flush()
        outcomes = [json.loads(process.stdout.readline()) for process in contenders]
        assert sorted(outcome[0] for outcome in outcomes) == ["lost", "won"], f"turn {turn}: {outcomes}"
        winner = ("one", "other")[[outcome[0] for outcome in outcomes].index("won")]
        loser = next(outcome for outcome in outcomes if outcome[0] == "lost")
        assert "STALE_BASELINE" in loser[1]
        winners.append(f"model {turn} {winner}")
    entries = ledger.history(open_store(url), *WHERE)
    assert [entry.model_digest for entry in entries] == winners
    assert [entry.sequence for entry in entries] == list(range(1, TURNS + 1))
    assert all(entry.previous is not None for entry in entries[1:])


class Crash(BaseException):
    """The process dies: nothing that the code catches."""


class CrashingStore:
    """A store whose process dies just before, or just after, its n-th write."""

    def __init__(self, store: Store, dies_at: int, *, after: bool) -> None:
        self._store, self._left, self._after = store, dies_at, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _write(self, write: Any) -> Any:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Crash
        result = write()
        if self._left == 0:
            raise Crash
        return result

    def put(self, key: str, data: bytes, **conditions: Any) -> Any:
        return self._write(lambda: self._store.put(key, data, **conditions))

    def put_file(self, path: Path, key: str) -> Any:
        return self._write(lambda: self._store.put_file(path, key))

    def put_tree(self, folder: Path, prefix: str, names: tuple[str, ...] | None = None) -> Any:
        # The real one, writing through this store: its files and its manifest are writes of their own.
        return type(self._store).put_tree(self, folder, prefix, names)  # type: ignore[arg-type]


def proposal(name: str, version: str = "1.0.0", evidence: str = "e") -> Proposal:
    return Proposal(
        environment="laptop",
        harness="live-shop",
        version=version,
        harness_digest="h",
        model={"digest": f"model {name}"},
        run=f"run {name}",
        verdict_digest=f"verdict {name}",
        evidence_digest=evidence,
        who="tester",
        when="2026-01-01T00:00:00+00:00",
        reason="it passed",
    )


def keep_and_promote(store: Any) -> None:
    """What the steps `decide` and `promote` write, in their order."""
    evidence = load_evidence(EVIDENCE)
    archive_evidence(store, EVIDENCE, evidence)
    ledger.promote(store, proposal("new", "1.1.0", evidence.digest), expected_head=1)


def test_a_crash_between_any_two_writes_leaves_the_old_pair_and_the_steps_can_run_again(url: str) -> None:
    writes = len(load_evidence(EVIDENCE).names) + 2  # its manifest, and the ledger entry
    for dies_at in range(1, writes + 1):
        for after in (False, True):
            turn = url.partition("?")
            store = open_store(f"{turn[0]}/{dies_at}-{after}{turn[1]}{turn[2]}")
            ledger.promote(store, proposal("old"), expected_head=0)
            with pytest.raises(Crash):
                keep_and_promote(CrashingStore(store, dies_at, after=after))
            head = ledger.production(store, *WHERE)
            assert head is not None
            done = dies_at == writes and after
            assert head.model_digest == ("model new" if done else "model old"), f"write {dies_at}, {after=}"
            keep_and_promote(store)
            entries = ledger.history(store, *WHERE)
            assert [entry.model_digest for entry in entries] == ["model old", "model new"]
            # Whatever the ledger names is there: the evidence was complete before the pair went into production.
            assert store.tree(evidence_place(entries[-1].evidence_digest)) is not None


def test_a_ledger_is_told_from_those_of_other_environments_and_rolled_back(url: str) -> None:
    store = open_store(url)
    ledger.promote(store, proposal("a"), expected_head=0)
    ledger.promote(store, proposal("b", "1.1.0"), expected_head=1)
    with pytest.raises(BadInput, match="older"):
        ledger.promote(store, proposal("c", "1.0.9"), expected_head=2)
    entry = ledger.rollback(
        store, *WHERE, reason="complaints", who="tester", when="2026-01-02T00:00:00+00:00"
    )
    assert (entry.model_digest, entry.reason, entry.kind) == ("model a", "complaints", "rollback")
    assert [one.model_digest for one in ledger.history(store, *WHERE)] == ["model a", "model b", "model a"]
    assert ledger.production(store, "h20", "live-shop") is None


def test_a_promotion_and_a_rollback_at_once_have_one_winner(url: str) -> None:
    store = open_store(url)
    ledger.promote(store, proposal("a"), expected_head=0)
    ledger.promote(store, proposal("b"), expected_head=1)
    # Both looked at entry 2; the rollback writes first.
    ledger.rollback(store, *WHERE, reason="complaints", who="tester", when="2026-01-02T00:00:00+00:00")
    with pytest.raises(StaleBaseline):
        ledger.promote(store, proposal("c"), expected_head=2)
    assert [one.kind for one in ledger.history(store, *WHERE)] == ["promote", "promote", "rollback"]


def test_the_ledger_is_whole_after_the_server_was_killed(
    server: Server,
    credentials: None,
) -> None:
    store = open_store(address(server, f"{BUCKET}/{uuid4().hex}"))
    ledger.promote(store, proposal("a"), expected_head=0)
    server.kill()
    server.start()
    ledger.promote(store, proposal("b"), expected_head=1)
    assert [one.model_digest for one in ledger.history(store, *WHERE)] == ["model a", "model b"]
    with pytest.raises(StaleBaseline):
        ledger.promote(store, proposal("c"), expected_head=1)
