"""What counts as a usable model folder, and what its digest covers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.models.folder import check_model_folder, model_files, model_manifest
from tests.support.model_folder import write_model_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model_folder(tmp_path / "model")


def test_a_complete_folder_passes(folder: Path) -> None:
    check_model_folder(folder)


def test_a_template_inside_the_tokenizer_configuration_counts(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").write_text('{"chat_template": "{{ messages }}"}')
    check_model_folder(folder)


def test_vocabulary_and_merges_count_as_a_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "vocab.json")
    with pytest.raises(BadInput, match="tokenizer"):
        check_model_folder(folder)
    (folder / "merges.txt").write_text("")
    check_model_folder(folder)


def truncate(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])


def overwrite_header(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:8] + b"\xff" * (weights.stat().st_size - 8))


def drop_a_shard(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"weight_map": {"w": "model-00001-of-00002.safetensors", "v": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def pickle_the_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "config.json").unlink(), "no such file"),
        (lambda f: (f / "config.json").write_text("{"), "not JSON"),
        (lambda f: (f / "config.json").write_text("[]"), "not a JSON object"),
        (lambda f: (f / "config.json").write_text("{}"), "model_type"),
        (lambda f: (f / "tokenizer.json").unlink(), "no tokenizer"),
        (lambda f: (f / "chat_template.jinja").unlink(), "no chat template"),
        (lambda f: (f / "chat_template.jinja").write_text("\n"), "no chat template"),
        (lambda f: (f / "model.safetensors").unlink(), "no weights"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "damaged"),
        (pickle_the_weights, "pickled"),
        (truncate, "damaged"),
        (overwrite_header, "damaged"),
        (drop_a_shard, "1 tensors are missing, such as v"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(folder)
    with pytest.raises(BadInput, match=message) as caught:
        check_model_folder(folder)
    assert str(folder) in str(caught.value)


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such model folder"):
        check_model_folder(tmp_path / "absent")


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"]
)
def test_the_digest_covers_everything_that_determines_answers(folder: Path, name: str) -> None:
    before = model_manifest(folder).digest
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    assert model_manifest(folder).digest != before


@pytest.mark.parametrize("name", ["README.md", "optimizer.pt", "training_args.bin", "trainer_state.json"])
def test_the_digest_leaves_out_what_does_not(folder: Path, name: str) -> None:
    before = model_manifest(folder).digest
    (folder / name).write_text("other")
    assert name not in model_files(folder)
    assert model_manifest(folder).digest == before
