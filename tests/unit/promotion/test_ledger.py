"""The ledger: one winner, no lost history, crashes, rollbacks, versions."""

import json
import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.errors import BadInput, EnvironmentFailure
from hat.promotion import ledger
from hat.promotion.ledger import Proposal, StaleBaseline
from hat.promotion.semver import precedence
from hat.storage import open_store

WHERE = ("laptop", "live-shop")


def proposal(name, version="1.0.0", **changes):
    values = {
        "environment": "laptop",
        "harness": "live-shop",
        "version": version,
        "harness_digest": f"harness {version}",
        "model": {
            "schema_version": 1,
            "kind": "model",
            "digest": f"model {name}",
            "base": "b",
            "notes": "直播",
        },
        "run": f"run {name}",
        "verdict_digest": f"verdict {name}",
        "evidence_digest": f"evidence {name}",
        "who": "tester",
        "when": "2026-01-01T00:00:00+00:00",
    }
    return Proposal(**{**values, **changes})


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path))


def roll_back(store, reason="complaints"):
    return ledger.rollback(store, *WHERE, reason=reason, who="tester", when="2026-01-02T00:00:00+00:00")


def test_nothing_is_in_production_at_first(store):
    assert ledger.production(store, *WHERE) is None
    assert ledger.history(store, *WHERE) == []
    document = ledger.production_document(*WHERE, None)
    assert document["version"] is None
    assert document["previous"] is None


def test_a_promoted_pair_is_in_production_with_the_agreed_keys(store):
    ledger.promote(store, proposal("a"), expected_head=0)
    ledger.promote(store, proposal("b", "1.1.0"), expected_head=1)
    document = ledger.production_document(*WHERE, ledger.production(store, *WHERE))
    keys = {"environment", "harness", "version", "harness_digest", "model", "model_digest", "run", "previous"}
    assert keys <= document.keys()
    assert document["version"] == "1.1.0"
    assert document["model_digest"] == document["model"]["digest"] == "model b"
    assert document["previous"]["model_digest"] == "model a"
    json.dumps(document)


def test_ledgers_of_other_environments_and_harnesses_are_apart(store):
    ledger.promote(store, proposal("a"), expected_head=0)
    assert ledger.production(store, "h20", "live-shop") is None
    assert ledger.production(store, "laptop", "live") is None


def test_a_pair_decided_against_an_older_production_is_stale(store):
    ledger.promote(store, proposal("a"), expected_head=0)
    with pytest.raises(StaleBaseline, match="STALE_BASELINE") as caught:
        ledger.promote(store, proposal("b"), expected_head=0)
    assert caught.value.exit_status == 3
    assert [entry.model_digest for entry in ledger.history(store, *WHERE)] == ["model a"]


def race(store, contenders, expected_head):
    """Promote all contenders at once; returns (winners' names, losers' names)."""
    barrier = threading.Barrier(len(contenders))
    winners, losers, others = [], [], []

    def contend(name):
        barrier.wait()
        try:
            ledger.promote(store, proposal(name), expected_head=expected_head)
            winners.append(name)
        except StaleBaseline:
            losers.append(name)
        except BaseException as error:  # noqa: BLE001 - a thread's error must reach the test
            others.append(error)

    threads = [threading.Thread(target=contend, args=(name,)) for name in contenders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not others
    return winners, losers


def test_two_concurrent_promotions_a_hundred_times_have_one_winner_each_and_lose_no_history(store):
    expected = []
    for turn in range(100):
        winners, losers = race(store, (f"{turn} x", f"{turn} y"), expected_head=turn)
        assert len(winners) == len(losers) == 1
        expected.append(f"model {winners[0]}")
    assert [entry.model_digest for entry in ledger.history(store, *WHERE)] == expected


def test_eight_concurrent_promotions_have_one_winner(store):
    winners, losers = race(store, [f"c{index}" for index in range(8)], expected_head=0)
    assert (len(winners), len(losers)) == (1, 7)


class MeetingStore:
    """A store in which all contenders have looked before any of them writes."""

    def __init__(self, store, contenders):
        self.store, self.barrier = store, threading.Barrier(contenders)

    def list(self, prefix=""):
        return self.store.list(prefix)

    def get(self, key):
        return self.store.get(key)

    def put(self, key, data, *, if_absent=False, if_match=None):
        self.barrier.wait()
        return self.store.put(key, data, if_absent=if_absent, if_match=if_match)


def test_contenders_that_all_saw_the_same_production_have_one_winner(store):
    winners, losers = race(MeetingStore(store, 4), list("abcd"), expected_head=0)
    assert (len(winners), len(losers)) == (1, 3)
    assert ledger.production(store, *WHERE).model_digest == f"model {winners[0]}"


class CrashingStore:
    """A store whose process dies just before or just after its write."""

    def __init__(self, store, *, after):
        self.store, self.after = store, after

    def list(self, prefix=""):
        return self.store.list(prefix)

    def get(self, key):
        return self.store.get(key)

    def put(self, key, data, *, if_absent=False, if_match=None):
        if self.after:
            self.store.put(key, data, if_absent=if_absent, if_match=if_match)
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_around_the_write_leaves_the_old_or_the_new_pair_and_the_step_can_run_again(store, after):
    ledger.promote(store, proposal("a"), expected_head=0)
    with pytest.raises(KeyboardInterrupt):
        ledger.promote(CrashingStore(store, after=after), proposal("b"), expected_head=1)
    assert ledger.production(store, *WHERE).model_digest == ("model b" if after else "model a")
    later = proposal("b", when="2026-01-01T01:00:00+00:00")
    assert ledger.promote(store, later, expected_head=1).sequence == 2
    assert [entry.model_digest for entry in ledger.history(store, *WHERE)] == ["model a", "model b"]


class ForgetfulStore(CrashingStore):
    """A client that writes, loses the answer, and writes again: S3 libraries do."""

    def put(self, key, data, *, if_absent=False, if_match=None):
        self.store.put(key, data, if_absent=if_absent)
        return self.store.put(key, data, if_absent=if_absent)


def test_a_write_repeated_after_a_lost_answer_still_wins(store):
    assert ledger.promote(ForgetfulStore(store, after=True), proposal("a"), expected_head=0).sequence == 1


def test_a_promotion_never_replaces_a_newer_version(store):
    ledger.promote(store, proposal("a", "1.10.0"), expected_head=0)
    with pytest.raises(BadInput, match=r"1\.10\.0 is in production; 1\.9\.0 is older"):
        ledger.promote(store, proposal("b", "1.9.0"), expected_head=1)
    ledger.promote(store, proposal("c", "1.10.0"), expected_head=1)


def test_rollback_returns_to_the_previous_pair_and_keeps_both(store):
    ledger.promote(store, proposal("a"), expected_head=0)
    ledger.promote(store, proposal("b", "1.1.0"), expected_head=1)
    entry = roll_back(store)
    assert (entry.kind, entry.version, entry.model_digest, entry.run) == (
        "rollback",
        "1.0.0",
        "model a",
        "run a",
    )
    assert entry.reason == "complaints"
    assert [one.model_digest for one in ledger.history(store, *WHERE)] == ["model a", "model b", "model a"]
    assert ledger.promote(store, proposal("b2", "1.1.0"), expected_head=3).previous.model_digest == "model a"


def test_rolling_back_twice_never_returns_to_the_pair_rolled_back(store):
    for index, name in enumerate("abc"):
        ledger.promote(store, proposal(name, f"1.{index}.0"), expected_head=index)
    assert roll_back(store).model_digest == "model b"
    assert roll_back(store).model_digest == "model a"
    with pytest.raises(BadInput, match="nothing was in production before"):
        roll_back(store)
    assert len(ledger.history(store, *WHERE)) == 5


def test_rollback_needs_a_reason_and_something_to_go_back_to(store):
    with pytest.raises(BadInput, match="nothing is in production"):
        roll_back(store)
    ledger.promote(store, proposal("a"), expected_head=0)
    with pytest.raises(BadInput, match="needs a reason"):
        roll_back(store, reason="  ")


def test_a_file_in_the_place_of_the_ledgers_folder_is_not_an_empty_ledger(tmp_path):
    store = open_store(str(tmp_path))
    store.put("ledger/laptop", b"")
    with pytest.raises(EnvironmentFailure, match="cannot be read: Not a directory"):
        ledger.production(store, *WHERE)


def test_the_environments_that_have_a_ledger_are_known(store):
    assert ledger.environments(store) == []
    ledger.promote(store, proposal("a"), expected_head=0)
    assert ledger.environments(store) == ["laptop"]


def test_a_damaged_ledger_is_reported_and_not_written_to(store):
    for index, name in enumerate("ab"):
        ledger.promote(store, proposal(name), expected_head=index)
    store.delete("ledger/laptop/live-shop/00000001.json")
    with pytest.raises(EnvironmentFailure, match="damaged at ledger/laptop/live-shop/00000001"):
        ledger.promote(store, proposal("c"), expected_head=2)
    store.put("ledger/laptop/live-shop/00000001.json", b"{}")
    with pytest.raises(EnvironmentFailure, match="cannot be read"):
        ledger.history(store, *WHERE)


def test_an_entry_altered_in_the_store_is_found_in_the_history(store):
    for index, name in enumerate("abc"):
        ledger.promote(store, proposal(name), expected_head=index)
    key = "ledger/laptop/live-shop/00000002.json"
    entry = json.loads(store.get(key))
    assert entry["parent_digest"] is not None
    store.put(key, json.dumps({**entry, "who": "somebody else"}).encode())
    with pytest.raises(EnvironmentFailure, match="entry 2 is not the one that entry 3 follows"):
        ledger.history(store, *WHERE)


def alter(store, sequence, changes):
    key = f"ledger/laptop/live-shop/{sequence:08d}.json"
    store.put(key, json.dumps({**json.loads(store.get(key)), **changes}).encode())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"environment": "h20"}, "does not belong here: it is entry 3 of h20/live-shop"),
        ({"harness": "other"}, "does not belong here"),
        ({"sequence": 2}, "does not belong here: it is entry 2"),
        ({"model": {}}, "names no model"),
        ({"previous": {**dict.fromkeys(("version", "harness_digest", "model_digest", "run"), "x"), "sequence": 3}},
         "returns to entry 3, which does not come before it"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_that_of_its_place_is_neither_shown_nor_acted_on(store, changes, message):
    for index, name in enumerate("abc"):
        ledger.promote(store, proposal(name), expected_head=index)
    alter(store, 3, changes)
    for act in (lambda: ledger.production(store, *WHERE), lambda: roll_back(store)):
        with pytest.raises(EnvironmentFailure, match=message):
            act()
    assert len(store.list("ledger")) == 3


def test_a_ledger_copied_to_another_environment_is_no_ledger_there(store):
    for index, name in enumerate("ab"):
        ledger.promote(store, proposal(name), expected_head=index)
    for key in store.list("ledger/laptop"):
        store.put(key.replace("laptop", "h20"), store.get(key))
    with pytest.raises(EnvironmentFailure, match="does not belong here"):
        ledger.rollback(store, "h20", "live-shop", reason="r", who="w", when="2026-01-01T00:00:00+00:00")
    assert len(ledger.history(store, *WHERE)) == 2


def test_a_rollback_does_not_return_to_an_altered_entry(store):
    for index, name in enumerate("abc"):
        ledger.promote(store, proposal(name), expected_head=index)
    alter(store, 2, {"model": {"digest": "forged"}})
    with pytest.raises(EnvironmentFailure, match="entry names two models"):
        roll_back(store)
    alter(store, 2, {"model_digest": "forged"})
    with pytest.raises(EnvironmentFailure, match="entry 2 is not the one that entry 3 follows"):
        roll_back(store)
    assert ledger.production(store, *WHERE).model_digest == "model c"


def test_a_head_that_names_two_models_is_reported(store):
    ledger.promote(store, proposal("a"), expected_head=0)
    alter(store, 1, {"model_digest": "forged"})
    with pytest.raises(EnvironmentFailure, match="names two models"):
        ledger.production(store, *WHERE)


def test_a_file_that_is_no_entry_is_named(store):
    ledger.promote(store, proposal("a"), expected_head=0)
    store.put("ledger/laptop/live-shop/.DS_Store", b"")
    with pytest.raises(EnvironmentFailure, match=r"DS_Store is no ledger entry.*Move it elsewhere"):
        ledger.production(store, *WHERE)


def test_the_harnesses_of_an_environment_are_listed_whatever_else_lies_there(store):
    ledger.promote(store, proposal("a"), expected_head=0)
    store.put("ledger/laptop/.DS_Store", b"")
    store.put("ledger/h20", b"")
    assert ledger.harnesses(store, "laptop") == ["live-shop"]
    assert ledger.harnesses(store, "h20") == ledger.harnesses(store, "elsewhere") == []
    with pytest.raises(BadInput, match="cannot name a ledger"):
        ledger.harnesses(store, "../x")


@pytest.mark.parametrize("reason", ["two\nlines", "a colour \x1b[31m"])
def test_a_reason_cannot_forge_a_line_of_the_history(store, reason):
    for index, name in enumerate("ab"):
        ledger.promote(store, proposal(name), expected_head=index)
    with pytest.raises(BadInput, match="on one line"):
        roll_back(store, reason)


def test_a_ledger_from_before_entries_were_chained_is_read_and_gone_on_with(store):
    for index, name in enumerate("ab"):
        ledger.promote(store, proposal(name), expected_head=index)
        key = f"ledger/laptop/live-shop/{index + 1:08d}.json"
        entry = json.loads(store.get(key))
        del entry["parent_digest"]
        store.put(key, json.dumps(entry).encode())
    assert len(ledger.history(store, *WHERE)) == 2
    assert roll_back(store).parent_digest is not None
    assert len(ledger.history(store, *WHERE)) == 3


@pytest.mark.parametrize("name", ["", "../h20", "a/b", ".hidden", "x" * 65])
def test_a_name_that_could_leave_its_ledger_is_refused(store, name):
    with pytest.raises(BadInput, match="cannot name a ledger"):
        ledger.production(store, name, "live-shop")


def test_a_model_without_a_digest_is_refused(store):
    with pytest.raises(BadInput, match="no digest"):
        ledger.promote(store, proposal("a", model={"kind": "model"}), expected_head=0)


@settings(deadline=None, max_examples=25)
@given(steps=st.lists(st.sampled_from(["promote", "stale", "rollback"]), max_size=12))
def test_history_only_grows_and_production_is_what_a_stack_says(tmp_path_factory, steps):
    store = open_store(str(tmp_path_factory.mktemp("store")))
    stack, before = [], []
    for number, step in enumerate(steps):
        if step == "promote":
            ledger.promote(store, proposal(str(number)), expected_head=len(before))
            stack.append(f"model {number}")
        elif step == "stale" and before:
            with pytest.raises(StaleBaseline):
                ledger.promote(store, proposal(str(number)), expected_head=len(before) - 1)
        elif step == "rollback" and len(stack) > 1:
            roll_back(store)
            stack.pop()
        after = ledger.history(store, *WHERE)
        assert after[: len(before)] == before
        head = ledger.production(store, *WHERE)
        assert (head.model_digest if head else None) == (stack[-1] if stack else None)
        before = after


def test_versions_are_ordered_as_semantic_versioning_says():
    ordered = (
        "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.2.0 1.10.0"
    )
    versions = ordered.split()
    assert sorted(random.Random(0).sample(versions, len(versions)), key=precedence) == versions
    assert precedence("1.0.0+build.1") == precedence("1.0.0")
    with pytest.raises(BadInput, match="is not a version"):
        precedence("1.0")
