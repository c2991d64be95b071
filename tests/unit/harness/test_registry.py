"""The registry and its lock: versions in order, references, and merged versions that cannot change."""

import pytest

from hat.errors import BadInput
from hat.harness.digest import digest_folder
from hat.harness.listing import list_registry
from hat.harness.lock import lock_versions
from hat.harness.problems import BadHarness
from hat.harness.registry import Registry, parse_reference


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("live-shop@1.0.0", ("live-shop", "1.0.0")),
        ("live-shop", ("live-shop", None)),
        ("a@10.2.30", ("a", "10.2.30")),
    ],
)
def test_a_reference_is_a_name_with_an_optional_version(reference, expected):
    assert parse_reference(reference) == expected


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "@1.0.0",
        "Live-Shop",
        "a@",
        "a@1",
        "a@1.0",
        "a@01.0.0",
        "a@1.0.0\n",
        "../a",
        "a b",
        "a@1.0.0-rc1",
        "a@１.0.0",
    ],
)
def test_what_is_no_reference_is_refused(reference):
    with pytest.raises(BadInput, match="is not a harness"):
        parse_reference(reference)


def test_versions_are_ordered_by_number_and_the_latest_is_loaded_by_default(next_version):
    (next_version.folder.parent / "1.10.0").mkdir()
    (next_version.folder.parent / "1.9.0").mkdir()
    assert next_version.registry.versions("shop") == ["1.0.0", "1.1.0", "1.9.0", "1.10.0"]
    (next_version.folder.parent / "1.10.0").rmdir()
    (next_version.folder.parent / "1.9.0").rmdir()
    assert next_version.registry.load("shop").version == "1.1.0"


def test_unknown_registries_harnesses_and_versions_say_what_is_known(shop, tmp_path):
    with pytest.raises(BadInput, match="no such harness registry"):
        Registry(tmp_path / "nothing").names()
    with pytest.raises(BadInput, match="Known: shop"):
        shop.registry.load("shops")
    with pytest.raises(BadInput, match=r"Known: 1\.0\.0"):
        shop.registry.load("shop", "2.0.0")


def test_a_folder_whose_name_is_not_the_manifests_version_does_not_load(shop):
    shop.folder.rename(shop.folder.parent / "1.0.1")
    with pytest.raises(BadHarness, match="version-folder"):
        shop.registry.load("shop")


def test_locking_writes_the_digest_of_each_new_version(next_version):
    locked = lock_versions(next_version.registry, "shop")
    assert locked.added == ("1.0.0", "1.1.0")
    assert next_version.registry.locked("shop") == {
        version: digest_folder(next_version.registry.folder("shop", version))
        for version in ("1.0.0", "1.1.0")
    }
    again = lock_versions(next_version.registry, "shop")
    assert (again.added, again.kept) == ((), ("1.0.0", "1.1.0"))


def test_locking_adds_to_what_is_locked_and_leaves_it_as_it_is(shop):
    lock_versions(shop.registry, "shop")
    before = shop.registry.locked("shop")["1.0.0"]
    copy = shop.folder.parent / "1.0.1"
    copy.mkdir()
    for path in shop.folder.rglob("*"):
        if path.is_file():
            target = copy / path.relative_to(shop.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text().replace("version: 1.0.0", "version: 1.0.1")
            target.write_text(text.replace("parent: null", "parent: 1.0.0").replace("Text of 1.0.0", "More"))
    assert lock_versions(shop.registry, "shop").added == ("1.0.1",)
    assert shop.registry.locked("shop")["1.0.0"] == before


def test_a_locked_version_that_changed_neither_loads_nor_locks(shop):
    lock_versions(shop.registry, "shop")
    lock = (shop.root / "shop" / "versions.lock").read_text()
    shop.edit("prompts/role.md", "viewers", "viewer")
    with pytest.raises(BadHarness, match="locked-digest"):
        shop.registry.load("shop", "1.0.0")
    with pytest.raises(BadHarness, match="locked-digest"):
        lock_versions(shop.registry, "shop")
    assert (shop.root / "shop" / "versions.lock").read_text() == lock


def test_a_version_with_errors_is_not_locked(shop):
    shop.edit("prompts/rules.md", "`load_skill`", "`load_skil`")
    with pytest.raises(BadHarness, match="unknown-symbol"):
        lock_versions(shop.registry, "shop")
    assert not (shop.root / "shop" / "versions.lock").exists()


@pytest.mark.parametrize(
    "text", ["1.0.0\n", "1.0.0 abc\n", "latest " + "a" * 64 + "\n", "1.0.0 x y\n", "\xff"]
)
def test_a_malformed_lock_is_refused_with_its_line(shop, text):
    (shop.root / "shop" / "versions.lock").write_text(f"# a comment\n{text}", encoding="latin-1")
    with pytest.raises(BadHarness) as caught:
        shop.registry.load("shop")
    assert "versions.lock:2" in str(caught.value)


def test_listing_shows_every_version_and_survives_a_broken_one(next_version):
    lock_versions(next_version.registry, "shop")
    next_version.write("harness.yaml", "{")
    rows = list_registry(next_version.registry)
    assert [(row.version, row.locked, row.readable) for row in rows] == [
        ("1.0.0", True, True),
        ("1.1.0", True, False),
    ]
