"""What training refuses before its first step: data of another harness, too little, unlike vocabularies."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from hat.errors import BadInput
from hat.trajectories.record import Trajectory

_SPECIAL = ("eos_token_id", "pad_token_id", "bos_token_id", "unk_token_id")


def check_harness(trajectories: Iterable[Trajectory], harness_digest: str) -> None:
    """Raises `BadInput` naming the first trajectory that ran under another harness."""
    for trajectory in trajectories:
        if trajectory.base_digest != harness_digest:
            raise BadInput(
                f"it ran under harness {trajectory.base_digest[:12]}, not {harness_digest[:12]}",
                where=f"trajectory {trajectory.id}",
                mend="Generate trajectories for the harness version that is trained on.",
            )


def check_size(count: int, batch: int, what: str) -> None:
    """Raises `BadInput` when there are fewer than ``batch`` of ``what``: TRL would silently make no step."""
    if count < batch:
        raise BadInput(
            f"{count} {what} are fewer than one batch of {batch}",
            where="training data",
            mend="Lower the batch size or give more data.",
        )


def check_generation_markers(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raises `BadInput` when the chat template does not mark what the assistant says."""
    if "{% generation %}" not in _unspaced(str(tokenizer.chat_template or "")):
        raise BadInput(
            "the chat template has no generation markers, so the assistant's tokens cannot be told apart",
            where=str(tokenizer.name_or_path),
            mend="Wrap the assistant's text in {% generation %} and {% endgeneration %}, end token included.",
        )


def check_same_vocabulary(student: Path, teacher: Path) -> None:
    """Refuse a teacher whose next-token distribution is not over the student's tokens. Loads no weights.

    Raises:
        BadInput: embedding sizes, vocabulary maps or special ids differ; both are named.
    """
    student_size, teacher_size = _embeddings(student), _embeddings(teacher)
    if student_size != teacher_size:
        raise _mismatch(
            f"the teacher has {teacher_size:,} embeddings and the student {student_size:,}", teacher
        )
    mine, its = AutoTokenizer.from_pretrained(student), AutoTokenizer.from_pretrained(teacher)
    my_vocabulary, its_vocabulary = mine.get_vocab(), its.get_vocab()
    if my_vocabulary != its_vocabulary:
        differing = min(
            (
                token
                for token in my_vocabulary.keys() | its_vocabulary.keys()
                if my_vocabulary.get(token) != its_vocabulary.get(token)
            ),
            key=lambda token: (my_vocabulary.get(token, -1), token),
        )
        raise _mismatch(
            f"the vocabularies differ: {differing!r} is {its_vocabulary.get(differing, 'absent')} in the "
            f"teacher's and {my_vocabulary.get(differing, 'absent')} in the student's",
            teacher,
        )
    for name in _SPECIAL:
        if getattr(mine, name) != getattr(its, name):
            raise _mismatch(
                f"{name} is {getattr(its, name)} in the teacher and {getattr(mine, name)} in the student",
                teacher,
            )


def _embeddings(folder: Path) -> int:
    config: Any = AutoConfig.from_pretrained(folder)
    return int(config.get_text_config().vocab_size)


def _mismatch(what: str, teacher: Path) -> BadInput:
    return BadInput(
        what,
        where=f"distillation from {teacher.name}",
        mend="The teacher must be the model that the student was trained from, with its tokenizer.",
    )


def _unspaced(template: str) -> str:
    return template.replace("{%-", "{%").replace("-%}", "%}")
