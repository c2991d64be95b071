from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM, TrainerCallback
from trl.trainer.distillation_trainer import DistillationTrainer

from hat.errors import BadInput
from hat.training import opd
from hat.training.config import OPDConfig
from hat.training.metrics import read_step_log
from tests.unit.training.conftest import make_model, make_tokenizer

PROMPTS = ["What is rain?", "Say hello to the whole wide world.", "2 + 2?", "Why?"]
CONFIG = OPDConfig(steps=3, samples_per_step=4, max_new_tokens=8, learning_rate=3e-3)


@pytest.fixture
def student(tmp_path: Path) -> Path:
    return save(tmp_path / "student", seed=0)


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    return save(tmp_path / "teacher", seed=1)


def save(folder: Path, seed: int) -> Path:
    tokenizer = make_tokenizer()
    make_model(tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def run(student: Path, teacher: Path, config: OPDConfig = CONFIG) -> tuple[Any, list[Any]]:
    log = student.parent / "opd.jsonl"
    prompts = PROMPTS * config.steps
    model, _ = opd.train_opd(student, teacher, prompts, config, work=student.parent / "work", log=log, seed=0)
    return model, read_step_log(log)


def test_the_student_moves_towards_the_teacher(student: Path, teacher: Path) -> None:
    opinionated = LlamaForCausalLM.from_pretrained(teacher)
    with torch.no_grad():
        opinionated.lm_head.weight.mul_(6.0)
    opinionated.save_pretrained(teacher)
    model, lines = run(student, teacher, CONFIG.model_copy(update={"steps": 30}))
    assert len(lines) == 30
    assert lines[-1]["kl"] < 0.6 * lines[0]["kl"]
    for line in lines:
        assert line["kl"] == pytest.approx(line["loss"], rel=1e-3)
        assert line["grad_norm"] > 0
        assert line["tokens"] > 0
    before = LlamaForCausalLM.from_pretrained(student)
    assert not torch.equal(before.lm_head.weight, model.lm_head.weight)


def test_the_loss_is_that_of_trl(student: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[float, float]] = []
    mine = opd.GeneralDistillation._compute_loss

    def both(self: Any, model: Any, inputs: dict[str, Any], count: Any) -> Any:
        found = mine(self, model, inputs, count)
        theirs = DistillationTrainer._compute_loss(self, model, inputs, count)
        compared.append((found[0].item(), theirs[0].item()))
        compared.append((found[1].item(), theirs[1].item()))
        assert found[2] == theirs[2]
        return found

    monkeypatch.setattr(opd.GeneralDistillation, "_compute_loss", both)
    run(student, teacher)
    assert len(compared) == 6
    for found, theirs in compared:
        assert found == pytest.approx(theirs, rel=5e-3)


def test_the_gradient_of_the_divergence_is_exact() -> None:
    student = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    teacher = torch.randn(3, 7, dtype=torch.float64)
    divergence, _ = opd.reverse_kl(student, teacher)
    p, q = student.detach().softmax(-1), teacher.softmax(-1)
    each = (p * (p / q).log()).sum(-1)
    assert torch.allclose(divergence.double(), each, atol=1e-6)
    divergence.sum().backward()
    expected = p * ((p / q).log() - each[:, None])
    assert student.grad is not None
    assert torch.allclose(student.grad, expected, atol=1e-6)


def test_the_end_token_is_learnt_although_it_is_the_padding_token(
    student: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = make_tokenizer().eos_token_id
    answers = [[40, end], [41, 42, 43, end], [end], [44, 45]]
    monkeypatch.setattr(opd.GeneralDistillation, "_generate_single_turn", lambda self, *_, **__: answers)
    seen: list[dict[str, Any]] = []
    mine = opd.GeneralDistillation._compute_loss

    def keep(self: Any, model: Any, inputs: dict[str, Any], count: Any) -> Any:
        seen.append(inputs)
        return mine(self, model, inputs, count)

    monkeypatch.setattr(opd.GeneralDistillation, "_compute_loss", keep)
    run(student, teacher, CONFIG.model_copy(update={"steps": 1}))
    counted = sorted(seen[0]["completion_mask"].sum(-1).tolist())
    assert counted == [1, 2, 2, 4]
    for ids, mask in zip(seen[0]["completion_ids"], seen[0]["completion_mask"], strict=True):
        assert ids[mask.bool()].tolist() in answers


def test_each_step_samples_from_the_weights_of_the_step_before(
    student: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions: list[int] = []
    check = opd.DecodeCopy.check

    def note(self: Any, model: Any, version: int) -> None:
        check(self, model, version)
        versions.append(self.version)

    monkeypatch.setattr(opd.DecodeCopy, "check", note)
    run(student, teacher)
    assert versions == [0, 1, 2]


@pytest.mark.parametrize("bfloat16", [True, False])
def test_the_loss_is_computed_in_what_the_hardware_has(
    student: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch, bfloat16: bool
) -> None:
    monkeypatch.setattr("hat.training.arguments.computes_in_bfloat16", lambda: bfloat16)
    kinds: list[torch.dtype] = []
    mine = opd.reverse_kl

    def note(student_logits: torch.Tensor, teacher_logits: torch.Tensor) -> Any:
        kinds.append(student_logits.dtype)
        return mine(student_logits, teacher_logits)

    monkeypatch.setattr(opd, "reverse_kl", note)
    run(student, teacher, CONFIG.model_copy(update={"steps": 1}))
    assert kinds == [torch.bfloat16 if bfloat16 else torch.float32]


class Interrupt(TrainerCallback):
    """Ends the run after a step, as a killed process would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def test_a_resumed_run_goes_on_as_if_it_had_not_been_interrupted(
    student: Path, teacher: Path, tmp_path: Path
) -> None:
    config = CONFIG.model_copy(update={"checkpoint_steps": 1})
    whole, expected = run(student, teacher, config)
    work, log, prompts = tmp_path / "again", tmp_path / "again.jsonl", PROMPTS * config.steps
    with pytest.raises(KeyboardInterrupt):
        opd.train_opd(student, teacher, prompts, config, work=work, log=log, seed=0, callbacks=[Interrupt(2)])
    last = work / "checkpoint-2"
    resumed, _ = opd.train_opd(
        student, teacher, prompts, config, work=work, log=log, seed=0, resume_from=last
    )
    found = read_step_log(log)
    assert [line["step"] for line in found] == [1, 2, 3]
    assert [line["kl"] for line in found] == pytest.approx([line["kl"] for line in expected], rel=1e-4)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_too_few_prompts_are_refused(student: Path, teacher: Path) -> None:
    with pytest.raises(BadInput, match="3 general prompts are fewer than one batch of 4"):
        opd.train_opd(student, teacher, PROMPTS[:3], CONFIG, work=student, log=student / "log", seed=0)
