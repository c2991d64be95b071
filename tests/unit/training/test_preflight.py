import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from hat.errors import BadInput
from hat.training.preflight import check_generation_markers, check_harness, check_same_vocabulary, check_size
from tests.unit.training.conftest import make_tokenizer


def save(folder: Path, tokenizer: PreTrainedTokenizerFast, embeddings: int | None = None) -> Path:
    tokenizer.save_pretrained(folder)
    config = {"model_type": "llama", "vocab_size": embeddings or len(tokenizer)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_the_same_tokenizer_is_accepted(tmp_path: Path) -> None:
    check_same_vocabulary(save(tmp_path / "a", make_tokenizer()), save(tmp_path / "b", make_tokenizer()))


def test_other_embedding_sizes_are_refused_with_both_named(tmp_path: Path) -> None:
    student = save(tmp_path / "student", make_tokenizer(), 151_936)
    teacher = save(tmp_path / "teacher", make_tokenizer(), 152_064)
    with pytest.raises(BadInput, match=r"152,064 embeddings and the student 151,936"):
        check_same_vocabulary(student, teacher)


def test_equal_sizes_with_other_vocabularies_are_refused(tmp_path: Path) -> None:
    student = save(tmp_path / "student", make_tokenizer(("red", "blue")))
    teacher = save(tmp_path / "teacher", make_tokenizer(("blue", "red")))
    with pytest.raises(
        BadInput, match="vocabularies differ: 'red' is 259 in the teacher's and 258 in the student's"
    ):
        check_same_vocabulary(student, teacher)


def test_other_special_ids_are_refused(tmp_path: Path) -> None:
    other = make_tokenizer()
    other.pad_token = "<|im_start|>"
    student, teacher = save(tmp_path / "student", make_tokenizer()), save(tmp_path / "teacher", other)
    with pytest.raises(BadInput, match="pad_token_id is 256 in the teacher and 257 in the student"):
        check_same_vocabulary(student, teacher)


def test_a_trajectory_of_another_harness_is_refused_by_name() -> None:
    mine: Any = SimpleNamespace(id="t-1", base_digest="a" * 64)
    other: Any = SimpleNamespace(id="t-2", base_digest="b" * 64)
    check_harness([mine], "a" * 64)
    with pytest.raises(
        BadInput, match=r"trajectory t-2: it ran under harness bbbbbbbbbbbb, not aaaaaaaaaaaa"
    ):
        check_harness([mine, other], "a" * 64)


def test_less_than_a_batch_is_refused() -> None:
    check_size(8, 8, "trajectories")
    with pytest.raises(BadInput, match="7 trajectories are fewer than one batch of 8"):
        check_size(7, 8, "trajectories")


@pytest.mark.parametrize("template", ["", "{{ messages }}"])
def test_a_template_without_generation_markers_is_refused(template: str) -> None:
    tokenizer = make_tokenizer()
    check_generation_markers(tokenizer)
    tokenizer.chat_template = template
    with pytest.raises(BadInput, match="generation markers"):
        check_generation_markers(tokenizer)
