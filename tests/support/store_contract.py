"""What every store must do, as tests of a fixture named `store`, for the tests of each kind to import."""

import threading
from pathlib import Path

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.storage import Conflict, NotFound, Store
from hat.storage.tree import MANIFEST_NAME


def test_what_is_put_is_read_back(store: Store) -> None:
    data = "直播间 \n\0 ok".encode()
    etag = store.put("a/直播/b.json", data)
    assert store.get("a/直播/b.json") == data
    assert store.read("a/直播/b.json").etag == etag
    assert store.exists("a/直播/b.json")


def test_an_empty_object_exists(store: Store) -> None:
    store.put("empty", b"")
    assert store.exists("empty")
    assert store.get("empty") == b""


def test_a_missing_key_is_not_found(store: Store, tmp_path: Path) -> None:
    assert not store.exists("nothing")
    with pytest.raises(NotFound, match="nothing"):
        store.get("nothing")
    with pytest.raises(NotFound):
        store.get_file("nothing", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_prefix_is_not_an_object(store: Store) -> None:
    store.put("folder/object", b"1")
    assert not store.exists("folder")
    with pytest.raises(NotFound):
        store.get("folder")
    store.delete("folder")
    assert store.exists("folder/object")


def test_put_if_absent_keeps_the_first(store: Store) -> None:
    store.put("key", b"first", if_absent=True)
    with pytest.raises(Conflict):
        store.put("key", b"second", if_absent=True)
    assert store.get("key") == b"first"


def test_put_if_absent_works_after_a_delete(store: Store) -> None:
    store.put("key", b"first", if_absent=True)
    store.delete("key")
    store.put("key", b"second", if_absent=True)
    assert store.get("key") == b"second"


def test_put_if_match_replaces_only_what_was_read(store: Store) -> None:
    old = store.put("key", b"1")
    new = store.put("key", b"2", if_match=old)
    with pytest.raises(Conflict):
        store.put("key", b"3", if_match=old)
    assert store.read("key").data == b"2"
    assert store.read("key").etag == new


def test_put_if_match_loses_where_nothing_is(store: Store) -> None:
    etag = store.put("key", b"1")
    store.delete("key")
    with pytest.raises(Conflict):
        store.put("key", b"2", if_match=etag)
    assert not store.exists("key")


def test_of_eight_writers_one_wins(store: Store) -> None:
    # Equal bytes, as in two promotions of one pair: only one writer may believe that it wrote.
    def write() -> None:
        start.wait()
        try:
            store.put("race", b"same", if_absent=True)
        except Conflict:
            outcomes.append("lost")
        else:
            outcomes.append("won")

    start = threading.Barrier(8)
    outcomes: list[str] = []
    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["lost"] * 7 + ["won"]


def test_eight_increments_by_if_match_all_count(store: Store) -> None:
    def increment() -> None:
        while True:
            seen = store.read("counter")
            try:
                store.put("counter", str(int(seen.data) + 1).encode(), if_match=seen.etag)
                return
            except Conflict:
                continue

    store.put("counter", b"0")
    threads = [threading.Thread(target=increment) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get("counter") == b"8"


def test_list_takes_whole_parts_of_keys(store: Store) -> None:
    for key in ("a/b/c", "a/bc", "a/b/d/e", "z"):
        store.put(key, b"")
    assert store.list("a/b") == ["a/b/c", "a/b/d/e"]
    assert store.list() == ["a/b/c", "a/b/d/e", "a/bc", "z"]
    assert store.list("a/bc") == ["a/bc"]
    assert store.list("absent") == []


def test_delete_twice_is_no_error(store: Store) -> None:
    store.put("key", b"1")
    store.delete("key")
    store.delete("key")
    assert store.list() == []


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a\\b", "a\nb"])
def test_an_illegal_key_is_refused(store: Store, key: str, tmp_path: Path) -> None:
    for operation in (store.get, store.exists, store.delete, store.tree):
        with pytest.raises(BadInput, match="legal"):
            operation(key)
    with pytest.raises(BadInput, match="legal"):
        store.put(key, b"")


def test_a_file_goes_in_and_out(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x" * 3_000_000)
    store.put_file(tmp_path / "in", "files/big")
    store.get_file("files/big", tmp_path / "new" / "out")
    assert (tmp_path / "new" / "out").read_bytes() == b"x" * 3_000_000
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]


def test_a_missing_file_is_bad_input(store: Store, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="absent"):
        store.put_file(tmp_path / "absent", "key")
    assert store.list() == []


def test_preflight_leaves_nothing_behind(store: Store) -> None:
    store.preflight()
    assert store.list() == []


def test_a_tree_goes_in_and_out(store: Store, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    manifest = store.put_tree(folder, "trees/one")
    assert store.tree("trees/one") == manifest
    assert store.get_tree("trees/one", tmp_path / "out") == manifest
    assert contents(tmp_path / "out") == contents(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "out"]


def test_only_named_files_are_stored(store: Store, tmp_path: Path) -> None:
    store.put_tree(make_folder(tmp_path), "tree", ("b.txt",))
    store.get_tree("tree", tmp_path / "out")
    assert contents(tmp_path / "out") == {"b.txt": b"two"}


def test_the_same_tree_again_is_no_change(store: Store, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    assert store.put_tree(folder, "tree") == store.put_tree(folder, "tree")


def test_a_complete_tree_is_never_replaced(store: Store, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    store.put_tree(folder, "tree")
    (folder / "b.txt").write_bytes(b"other")
    with pytest.raises(Conflict, match="immutable"):
        store.put_tree(folder, "tree")
    store.get_tree("tree", tmp_path / "out")
    assert (tmp_path / "out" / "b.txt").read_bytes() == b"two"


def test_a_tree_without_manifest_is_not_there(store: Store, tmp_path: Path) -> None:
    store.put_tree(make_folder(tmp_path), "tree")
    store.delete(f"tree/{MANIFEST_NAME}")
    assert store.tree("tree") is None
    with pytest.raises(NotFound):
        store.get_tree("tree", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_file_of_a_tree_is_found(store: Store, tmp_path: Path) -> None:
    store.put_tree(make_folder(tmp_path), "tree")
    store.put("tree/b.txt", b"tw0")
    with pytest.raises(EnvironmentFailure, match=r"b\.txt"):
        store.get_tree("tree", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_missing_file_of_a_tree_is_found(store: Store, tmp_path: Path) -> None:
    store.put_tree(make_folder(tmp_path), "tree")
    store.delete("tree/a/one.bin")
    with pytest.raises(EnvironmentFailure, match=r"a/one\.bin is missing"):
        store.get_tree("tree", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_manifest_cannot_reach_outside_the_folder(store: Store, tmp_path: Path) -> None:
    entry = b'{"path":"../evil","size":1,"sha256":"00"}'
    store.put(f"tree/{MANIFEST_NAME}", b'{"schema_version":1,"kind":"tree","files":[' + entry + b"]}")
    with pytest.raises(EnvironmentFailure, match="evil"):
        store.get_tree("tree", tmp_path / "out")


def test_a_deleted_tree_can_be_stored_again(store: Store, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    store.put_tree(folder, "tree")
    store.delete_tree("tree")
    assert store.list("tree") == []
    (folder / "b.txt").write_bytes(b"other")
    assert store.put_tree(folder, "tree") == store.tree("tree")


def make_folder(parent: Path) -> Path:
    folder = parent / "folder"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "one.bin").write_bytes(b"\x00one")
    (folder / "b.txt").write_bytes(b"two")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
