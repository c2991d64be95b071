"""A harness goes through the store whole, and nothing else does."""

import io
import tarfile
from pathlib import Path

import pytest

from hat.errors import EnvironmentFailure
from hat.harness.registry import Registry
from hat.runs.harness_archive import fetch_harness, publish_harness
from hat.storage import Store, open_store

REGISTRY = Registry(Path(__file__).parents[3] / "harness_registry")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"))


def test_what_was_published_is_fetched(store: Store, tmp_path: Path) -> None:
    published = publish_harness(store, REGISTRY, "live-shop", "1.1.0")
    assert fetch_harness(store, "live-shop", "1.1.0", published.digest, tmp_path / "there") == published


@pytest.mark.parametrize("name", ["../outside.md", "/tmp/outside.md", "prompts/../../outside.md"])
def test_an_archive_that_leaves_its_folder_is_refused(store: Store, tmp_path: Path, name: str) -> None:
    assert _refused(store, tmp_path, tarfile.TarInfo(name))
    assert not (tmp_path / "outside.md").exists()


def test_an_archive_with_a_link_is_refused(store: Store, tmp_path: Path) -> None:
    link = tarfile.TarInfo("prompts/role.md")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
    assert _refused(store, tmp_path, link)


def _refused(store: Store, tmp_path: Path, member: tarfile.TarInfo) -> bool:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(member, io.BytesIO())
    store.put("harnesses/live-shop/1.0.0/d.tar", buffer.getvalue())
    with pytest.raises(EnvironmentFailure, match=r"damaged harness archive: .* is not a file inside of it"):
        fetch_harness(store, "live-shop", "1.0.0", "d", tmp_path / "there")
    return True
