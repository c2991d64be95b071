"""The arm harness-OPD and replay in distillation."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from hat.agent.episode import Episode
from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.models.tokens import ChatTokens
from hat.training import opd
from hat.training.collator import PackCollator
from hat.training.config import OPDConfig
from hat.training.harness_prompts import draw_harness_prompts
from hat.training.metrics import read_step_log
from hat.training.packing import SegmentWeights
from hat.training.plan import plan_packs
from hat.training.replay import Replay
from hat.trajectories.record import Trajectory
from tests.unit.training.conftest import make_model, make_tokenizer

HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
TEACHER = "a" * 64


@pytest.fixture(scope="module")
def trajectories() -> list[Trajectory]:
    tasks = DOMAIN.sample_tasks("train", 6, 1, session=DOMAIN.sample_session(0, "train"))
    episodes = [Episode(HarnessState.original(HARNESS), task, DOMAIN) for task in tasks]
    DOMAIN.expert().play(episodes, DOMAIN.execute, lambda index: None)
    return [episode.trajectory() for episode in episodes]


@pytest.fixture
def prompts(trajectories: list[Trajectory], tokenizer: PreTrainedTokenizerFast) -> list[str]:
    return draw_harness_prompts(trajectories, HARNESS, AugmentConfig(), ChatTokens(tokenizer), 12, seed=1)


def save(folder: Path, seed: int) -> Path:
    tokenizer = make_tokenizer()
    make_model(tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def collated(trajectories: list[Trajectory]) -> PackCollator:
    packs = plan_packs(trajectories, [None, 1, 2], 1, 0, seed=0)
    return PackCollator(packs, HARNESS, AugmentConfig(), make_tokenizer(), SegmentWeights())


def run(folder: Path, prompts: list[str], config: OPDConfig, **more: Any) -> list[Any]:
    log = folder / "log.jsonl"
    student, teacher = save(folder / "student", 0), save(folder / "teacher", 1)
    opd.train_opd(student, teacher, prompts, config, work=folder / "work", log=log, seed=0, **more)
    return read_step_log(log)


def test_prompts_end_where_the_assistant_speaks_each_under_a_state_of_its_own(
    prompts: list[str], trajectories: list[Trajectory], tokenizer: PreTrainedTokenizerFast
) -> None:
    assert len(set(prompts)) == 12
    assert all(prompt.endswith("<|im_start|>assistant\n") for prompt in prompts)
    turns = {prompt.count("<|im_start|>assistant") for prompt in prompts}
    assert 1 in turns
    assert max(turns) > 1
    heads = {prompt.split("<|im_start|>user")[0] for prompt in prompts}
    assert len(heads) > 6
    questions = [one.task.question for one in trajectories]
    assert all(any(question in prompt for question in questions) for prompt in prompts)
    tokens = ChatTokens(tokenizer)
    again = draw_harness_prompts(trajectories, HARNESS, AugmentConfig(), tokens, 12, seed=1)
    assert again == prompts
    with pytest.raises(BadInput, match="no trajectories"):
        draw_harness_prompts([], HARNESS, AugmentConfig(), tokens, 1, seed=1)


def test_the_student_answers_harness_prompts_as_they_are_and_the_log_names_the_arm(
    tmp_path: Path, prompts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []
    sample = opd.GeneralDistillation._generate_single_turn

    def note(self: Any, prompt_ids: list[list[int]], *more: Any, **named: Any) -> Any:
        seen.extend(prompt_ids)
        return sample(self, prompt_ids, *more, **named)

    monkeypatch.setattr(opd.GeneralDistillation, "_generate_single_turn", note)
    config = OPDConfig(steps=1, samples_per_step=2, max_new_tokens=4, prompts="harness", teacher=TEACHER)
    (line,) = run(tmp_path, prompts, config)
    tokens = ChatTokens(make_tokenizer())
    assert seen == [tokens.ids(prompt) for prompt in prompts[:2]]
    assert line["arm"] == "harness-opd"
    assert line["kl"] > 0


def test_every_second_batch_replays_a_supervised_pack(tmp_path: Path, trajectories: list[Trajectory]) -> None:
    config = OPDConfig(steps=4, samples_per_step=2, max_new_tokens=4, replay_every=2)
    lines = run(tmp_path, ["What is rain?", "Why?"] * 4, config, replayed=collated(trajectories))
    assert ["kl" in line for line in lines] == [True, False, True, False]
    assert ["replay_loss" in line for line in lines] == [False, True, False, True]
    for line in lines:
        assert line["grad_norm"] > 0
        assert line["loss"] == pytest.approx(line.get("replay_loss", line.get("kl")), rel=1e-2)
        assert "arm" not in line


def test_replay_takes_every_pack_before_any_again(trajectories: list[Trajectory]) -> None:
    replay = Replay(4, collated(trajectories), seed=0)
    assert [replay.is_due(step) for step in range(8)] == [False, False, False, True] * 2
    ids = [replay.inputs(number, torch.device("cpu"))["branch_ids"].tolist() for number in range(6)]
    assert len({str(each) for each in ids[:3]}) == 3
    assert sorted(map(str, ids[:3])) == sorted(map(str, ids[3:]))


def test_replay_without_generation_markers_is_refused_before_any_step(
    tmp_path: Path, trajectories: list[Trajectory]
) -> None:
    student, teacher = save(tmp_path / "student", 0), save(tmp_path / "teacher", 1)
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"
    tokenizer.save_pretrained(student)
    config = OPDConfig(steps=2, samples_per_step=2, max_new_tokens=4, replay_every=2)
    with pytest.raises(BadInput, match="generation markers"):
        opd.train_opd(
            student,
            teacher,
            ["a", "b", "c", "d"],
            config,
            work=tmp_path / "work",
            log=tmp_path / "log.jsonl",
            seed=0,
            replayed=collated(trajectories),
        )
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.parametrize("change", [{"prompts": "harness"}, {"teacher": TEACHER}])
def test_only_harness_distillation_has_a_teacher_of_its_own(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="prompts=harness needs a teacher"):
        OPDConfig(**change)
