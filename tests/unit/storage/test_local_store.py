"""The store in a folder: the contract of all stores, and what only a disk can do wrong."""

import multiprocessing
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from hat.errors import BadInput, EnvironmentFailure
from hat.storage import Conflict, NotFound, open_store
from hat.storage.local import LocalStore
from tests.support.store_contract import *  # noqa: F403


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    return LocalStore(tmp_path_factory.mktemp("store"))


def _append_if_absent(root: str, name: str, barrier, results) -> None:  # type: ignore[no-untyped-def]
    barrier.wait()
    try:
        LocalStore(Path(root)).put("ledger/00001", name.encode(), if_absent=True)
    except Conflict:
        return
    results.put(name)


def test_of_eight_processes_one_wins(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(8), context.Queue()
    processes = [
        context.Process(target=_append_if_absent, args=(str(tmp_path), f"writer-{n}", barrier, results))
        for n in range(8)
    ]
    for process in processes:
        process.start()
    winner = results.get(timeout=60)
    for process in processes:
        process.join(60)
    assert results.empty()
    assert LocalStore(tmp_path).get("ledger/00001") == winner.encode()


def test_a_key_below_an_object_is_refused(store: LocalStore) -> None:
    store.put("a", b"1")
    with pytest.raises(BadInput, match="below"):
        store.put("a/b", b"2")
    assert store.list() == ["a"]


def test_the_store_keeps_its_own_folder_to_itself(store: LocalStore) -> None:
    store.put("a", b"1")
    with pytest.raises(BadInput, match="own"):
        store.put(".hat-store/lock-1", b"")


def test_a_link_in_a_tree_is_refused(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to("/etc/hostname")
    with pytest.raises(BadInput, match="link"):
        store.put_tree(tmp_path / "folder", "tree")


def test_a_tree_cut_off_while_it_is_written_is_not_seen(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_at_second(path: Path, key: str) -> None:
        if store.list("tree"):
            raise KeyboardInterrupt
        original(path, key)

    folder = make_folder(tmp_path)  # noqa: F405
    original = store.put_file
    with monkeypatch.context() as patch:
        patch.setattr(store, "put_file", stop_at_second)
        with pytest.raises(KeyboardInterrupt):
            store.put_tree(folder, "tree")
    assert store.list("tree") != []
    assert store.tree("tree") is None
    with pytest.raises(NotFound):
        store.get_tree("tree", tmp_path / "out")
    store.put_tree(folder, "tree")
    store.get_tree("tree", tmp_path / "out")


def test_a_tree_is_not_fetched_over_a_folder_in_use(store: LocalStore, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)  # noqa: F405
    store.put_tree(folder, "tree")
    with pytest.raises(BadInput, match="exists already"):
        store.get_tree("tree", folder)


@pytest.fixture
def small_disk(tmp_path: Path):  # type: ignore[no-untyped-def]
    """A real file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_said_and_leaves_the_old_content(small_disk: Path, tmp_path: Path) -> None:
    store = LocalStore(small_disk)
    store.put("key", b"old")
    big = tmp_path / "big"
    big.write_bytes(b"x" * 2_000_000)
    with pytest.raises(EnvironmentFailure, match="disk is full"):
        store.put("key", big.read_bytes())
    with pytest.raises(EnvironmentFailure, match="disk is full"):
        store.put_file(big, "key")
    assert store.get("key") == b"old"
    assert store.list() == ["key"]
    store.put("key", b"new")
    assert store.get("key") == b"new"


def test_a_full_disk_while_fetching_leaves_nothing(small_disk: Path, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "big").write_bytes(b"x" * 2_000_000)
    store.put_tree(tmp_path / "folder", "tree")
    with pytest.raises(EnvironmentFailure, match="disk is full"):
        store.get_tree("tree", small_disk / "out")
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_folder_is_opened_by_path_or_file_url(tmp_path: Path, prefix: str) -> None:
    open_store(f"{prefix}{tmp_path}/store").put("a", b"1")
    assert (tmp_path / "store" / "a").read_bytes() == b"1"


@pytest.mark.parametrize("url", ["gs://bucket/x", "http://host/x", "", "file://"])
def test_an_unknown_kind_of_store_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        open_store(url)


@pytest.mark.parametrize("below", ["", "/store", "/a/b"])
def test_a_store_that_leads_through_a_file_is_refused_and_not_taken_for_an_empty_one(
    tmp_path: Path, below: str
) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadInput, match="file is not a folder"):
        open_store(f"{tmp_path}/file{below}")


KEYS = st.sampled_from(["a", "b/c", "b/d", "直播/e"])
DATA = st.binary(max_size=6)


class StoreAgainstDictionary(RuleBasedStateMachine):
    """Any sequence of operations leaves the store like a dictionary that got the same ones."""

    parent: Path

    def __init__(self) -> None:
        super().__init__()
        self.store = LocalStore(Path(tempfile.mkdtemp(dir=self.parent)))
        self.model: dict[str, bytes] = {}

    @rule(key=KEYS, data=DATA)
    def put(self, key: str, data: bytes) -> None:
        self.store.put(key, data)
        self.model[key] = data

    @rule(key=KEYS, data=DATA)
    def put_if_absent(self, key: str, data: bytes) -> None:
        if key in self.model:
            with pytest.raises(Conflict):
                self.store.put(key, data, if_absent=True)
        else:
            self.store.put(key, data, if_absent=True)
            self.model[key] = data

    @rule(key=KEYS, source=KEYS, data=DATA)
    def put_if_match(self, key: str, source: str, data: bytes) -> None:
        if source not in self.model:
            return
        etag = self.store.read(source).etag
        if self.model.get(key) == self.model[source]:
            self.store.put(key, data, if_match=etag)
            self.model[key] = data
        else:
            with pytest.raises(Conflict):
                self.store.put(key, data, if_match=etag)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.store.delete(key)
        self.model.pop(key, None)

    @invariant()
    def same_content(self) -> None:
        assert {key: self.store.get(key) for key in self.store.list()} == self.model


def test_any_sequence_of_operations_is_like_a_dictionary(tmp_path: Path) -> None:
    class Machine(StoreAgainstDictionary):
        parent = tmp_path

    run_state_machine_as_test(Machine, settings=settings(max_examples=30, deadline=None))
