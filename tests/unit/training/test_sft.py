"""SFT with a tiny model: it learns, it resumes as if never stopped, and it stops on broken numbers."""

from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback

from hat.agent.episode import Episode
from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.storage import open_store
from hat.training.checkpoints import CheckpointsInStore, fetch_last_checkpoint, stored_checkpoints
from hat.training.config import SFTConfig
from hat.training.metrics import read_step_log
from hat.training.packing import SegmentWeights, build_pack
from hat.training.plan import PlannedPack, plan_packs
from hat.training.safety import BrokenNumbers
from hat.training.sft import train_sft
from hat.trajectories.record import Trajectory

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
AUGMENT = AugmentConfig()
CONFIG = SFTConfig(learning_rate=5e-3, checkpoint_steps=2, warmup_share=0)


def expert_trajectories(count: int) -> list[Trajectory]:
    domain = get_domain("live_shop")
    tasks = domain.sample_tasks("train", count, 1, session=domain.sample_session(0, "train"))
    episodes = [Episode(HarnessState.original(HARNESS), task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    return [episode.trajectory("expert") for episode in episodes]


@pytest.fixture(scope="module")
def packs() -> list[PlannedPack]:
    return plan_packs(expert_trajectories(8), [0, 1, 2, 3, 4, 5], 1, 1, seed=0)


@pytest.fixture
def base(tmp_path: Path, tiny_model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> Path:
    folder = tmp_path / "base"
    tiny_model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def losses(log: Path) -> list[float]:
    return [line["loss"] for line in read_step_log(log)]


class StopAfter(TrainerCallback):
    """Ends training as a kill would: without a word, after a number of steps."""

    def __init__(self, step: int) -> None:
        self._step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self._step:
            raise KeyboardInterrupt


def test_training_lowers_the_loss_and_logs_every_step(
    tmp_path: Path, base: Path, packs: list[PlannedPack]
) -> None:
    log = tmp_path / "log.jsonl"
    train_sft(base, packs * 2, HARNESS, AUGMENT, CONFIG, work=tmp_path / "work", log=log, seed=0)
    values = losses(log)
    assert len(values) == 12
    assert sum(values[-3:]) < 0.9 * sum(values[:3])
    assert all(line["tokens"] > line["scored_tokens"] > 0 for line in read_step_log(log))


def test_a_killed_run_resumes_from_the_store_as_if_it_had_not_been_killed(
    tmp_path: Path, base: Path, packs: list[PlannedPack]
) -> None:
    whole = tmp_path / "whole.jsonl"
    model, _ = train_sft(base, packs, HARNESS, AUGMENT, CONFIG, work=tmp_path / "whole", log=whole, seed=0)

    store = open_store(str(tmp_path / "store"))
    log = tmp_path / "first.jsonl"
    with pytest.raises(KeyboardInterrupt):
        train_sft(
            base,
            packs,
            HARNESS,
            AUGMENT,
            CONFIG,
            work=tmp_path / "first",
            log=log,
            seed=0,
            callbacks=[CheckpointsInStore(store, "checkpoints/x", log), StopAfter(5)],
        )
    assert stored_checkpoints(store, "checkpoints/x") == ["checkpoint-4"]

    fresh = tmp_path / "second"  # an empty disk: only the store is left
    fresh.mkdir()
    log = fresh / "log.jsonl"
    last = fetch_last_checkpoint(store, "checkpoints/x", fresh, log)
    resumed, _ = train_sft(
        base, packs, HARNESS, AUGMENT, CONFIG, work=fresh, log=log, seed=0, resume_from=last
    )
    assert losses(log) == pytest.approx(losses(whole), rel=1e-4)
    for ours, theirs in zip(resumed.parameters(), model.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_a_loss_that_is_not_finite_stops_the_run(
    tmp_path: Path, tiny_model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, packs: list[PlannedPack]
) -> None:
    with torch.no_grad():
        tiny_model.model.layers[0].mlp.up_proj.weight[0, 0] = float("nan")
    folder = tmp_path / "broken"
    tiny_model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    with pytest.raises(BrokenNumbers):
        train_sft(
            folder,
            packs,
            HARNESS,
            AUGMENT,
            CONFIG,
            work=tmp_path / "work",
            log=tmp_path / "log.jsonl",
            seed=0,
        )
    assert not list((tmp_path / "work").glob("checkpoint-*"))


def test_only_the_assistants_tokens_are_scored_and_its_stop_token_is(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    trajectory = next(one for one in expert_trajectories(13) if one.task.intent == "price")
    pack = build_pack([trajectory], HarnessState.original(HARNESS), tokenizer, SegmentWeights())
    (branch,) = pack.branches
    scored = tokenizer.decode([t for t, w in zip(branch.token_ids, branch.weights, strict=True) if w])
    calls, reply = scored.rsplit("<|im_end|>", 2)[:2]
    assert scored.count("<|im_end|>") == len(trajectory.turns)
    assert calls.count("<tool_call>") == 2
    assert reply == trajectory.reply
    assert trajectory.task.question not in scored


def test_of_an_opening_only_the_first_turn_is_scored(tokenizer: PreTrainedTokenizerFast) -> None:
    one, two = (t for t in expert_trajectories(13) if t.task.intent in ("price", "stock"))
    state = HarnessState.original(HARNESS)
    pack = build_pack([one], state, tokenizer, SegmentWeights(), openings=[two])
    text = tokenizer.decode(pack.branches[1].token_ids)
    assert text.count("<tool_call>") == 1
    assert text.endswith("<|im_end|>")
    assert two.reply not in text


def test_trajectories_of_two_sessions_do_not_share_a_prefix(tokenizer: PreTrainedTokenizerFast) -> None:
    domain = get_domain("live_shop")
    tasks = [domain.sample_tasks("train", 1, 1, session=domain.sample_session(s, "train"))[0] for s in (0, 1)]
    episodes = [
        Episode(HarnessState.original(HARNESS), task, domain, f"e{n}") for n, task in enumerate(tasks)
    ]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    with pytest.raises(BadInput, match="different system prompts"):
        build_pack(
            [e.trajectory() for e in episodes], HarnessState.original(HARNESS), tokenizer, SegmentWeights()
        )


def test_a_template_without_generation_markers_is_refused(tokenizer: PreTrainedTokenizerFast) -> None:
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}"
    with pytest.raises(BadInput, match="generation markers"):
        build_pack(expert_trajectories(1), HarnessState.original(HARNESS), tokenizer, SegmentWeights())
