"""Models are stored once, arrive verified, and are fetched once however many ask."""

import threading
from pathlib import Path

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.models.reference import ModelRef
from hat.models.store import ModelStore
from hat.storage import NotFound
from hat.storage.local import LocalStore
from tests.support.model_folder import write_model_folder


class DistantStore(LocalStore):
    """A real store that is not on this machine's disk, as far as its users can tell."""

    fetched = 0

    def local_path(self, key: str) -> Path | None:
        return None

    def get_tree(self, prefix: str, folder: Path):  # type: ignore[no-untyped-def]
        self.fetched += 1
        return super().get_tree(prefix, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model_folder(tmp_path / "model")


@pytest.fixture(params=[LocalStore, DistantStore])
def models(request: pytest.FixtureRequest, tmp_path: Path) -> ModelStore:
    return ModelStore(request.param(tmp_path / "store"), tmp_path / "home")


def test_a_published_model_comes_back(models: ModelStore, folder: Path) -> None:
    reference = models.publish(folder, base="tiny", notes="made by hand")
    found = models.materialise(reference)
    for name in ("model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"):
        assert (found / name).read_bytes() == (folder / name).read_bytes()
    assert models.materialise(reference) == found


def test_the_same_content_is_stored_once(models: ModelStore, folder: Path, tmp_path: Path) -> None:
    one = models.publish(folder, base="tiny")
    (folder / "README.md").write_text("a card is not part of the model")
    two = models.publish(write_model_folder(tmp_path / "copy"), base="tiny")
    assert one == two
    assert {key.split("/")[1] for key in models.store.list("models")} == {one.digest}
    assert f"{one.prefix}/README.md" not in models.store.list()


def test_an_unusable_folder_is_not_stored(models: ModelStore, folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(BadInput, match="chat template"):
        models.publish(folder, base="tiny")
    assert models.store.list() == []


def test_a_model_that_the_store_lacks_is_named(models: ModelStore) -> None:
    with pytest.raises(NotFound, match="no model 000000000000"):
        models.materialise(ModelRef(digest="0" * 64, base="x"))


def test_damage_in_the_store_is_found_after_the_first_use_too(models: ModelStore, folder: Path) -> None:
    reference = models.publish(folder, base="tiny")
    if models.store.local_path("x") is not None:
        models.materialise(reference)
    weights = models.store.get(f"{reference.prefix}/model.safetensors")
    models.store.put(f"{reference.prefix}/model.safetensors", weights[:-1] + b"!")
    with pytest.raises(EnvironmentFailure, match=r"model\.safetensors"):
        models.materialise(reference)


def test_a_damaged_manifest_is_found(models: ModelStore, folder: Path, tmp_path: Path) -> None:
    reference = models.publish(folder, base="tiny")
    other = models.publish(write_model_folder(tmp_path / "other", weights=b"other"), base="tiny")
    models.store.put(f"{reference.prefix}/.tree.json", models.store.get(f"{other.prefix}/.tree.json"))
    with pytest.raises(EnvironmentFailure, match="manifest"):
        models.materialise(reference)


def test_a_damaged_cache_is_fetched_again(folder: Path, tmp_path: Path) -> None:
    store = DistantStore(tmp_path / "store")
    models = ModelStore(store, tmp_path / "home")
    reference = models.publish(folder, base="tiny")
    cached = models.materialise(reference)
    (cached / "model.safetensors").write_bytes(b"damaged")
    assert (models.materialise(reference) / "model.safetensors").read_bytes() != b"damaged"
    (cached / "config.json").unlink()
    assert (models.materialise(reference) / "config.json").is_file()
    assert store.fetched == 3


def test_what_a_killed_fetch_left_is_removed(folder: Path, tmp_path: Path) -> None:
    models = ModelStore(DistantStore(tmp_path / "store"), tmp_path / "home")
    reference = models.publish(folder, base="tiny")
    left = tmp_path / "home" / "cache" / "models" / f".{reference.digest}.abc"
    left.mkdir(parents=True)
    models.materialise(reference)
    assert not left.exists()


def test_many_who_ask_at_once_fetch_once(folder: Path, tmp_path: Path) -> None:
    store = DistantStore(tmp_path / "store")
    reference = ModelStore(store, tmp_path / "home").publish(folder, base="tiny")
    found: list[Path] = []

    def ask() -> None:
        found.append(ModelStore(store, tmp_path / "home").materialise(reference))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1
    assert store.fetched == 1


def test_a_reference_survives_its_file(tmp_path: Path) -> None:
    reference = ModelRef(digest="ab" * 32, base="tiny 模型", notes="n")
    reference.write(tmp_path / "ref.json")
    assert ModelRef.read(tmp_path / "ref.json") == reference
    assert "模型" in (tmp_path / "ref.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"digest": "../../etc", "base": "x"}', '{"schema_version": 2, "base": "x"}', "{"]
)
def test_a_malformed_reference_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ref.json").write_text(text)
    with pytest.raises(BadInput, match=r"ref\.json"):
        ModelRef.read(tmp_path / "ref.json")
