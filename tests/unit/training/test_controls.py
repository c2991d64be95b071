"""Controls of SFT: dimensions left out, one harness only, the same tokens, few rare kinds, an early end."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast, TrainerControl, TrainerState

from hat.agent.episode import Episode
from hat.augment.config import DIMENSIONS, FAMILIES, AugmentConfig
from hat.augment.plan import sample_states
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.runs.config import RunConfig, apply_overrides, parse_config
from hat.training.collator import count_tokens
from hat.training.composition import kind_of, limit_rare, rare_allowed
from hat.training.early_stop import StopAtAccuracy, hard_tasks
from hat.training.metrics import read_step_log
from hat.training.plan import PlannedPack, plan_packs
from hat.training.preparation import collator, prepare_sft
from hat.training.sft import train_sft
from hat.trajectories.faulty import faulty_executor
from hat.trajectories.record import Trajectory
from hat.trajectories.storage import write_trajectories
from hat.trajectories.twins import play_pairs, training_pairs, write_pairs
from hat.trajectories.validate_rows import TRAJECTORIES_FILE

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")


def played(count: int, fault_share: float = 0.0) -> list[Trajectory]:
    tasks = DOMAIN.sample_tasks("train", count, 1, session=DOMAIN.sample_session(0, "train"))
    episodes = [Episode(HarnessState.original(HARNESS), task, DOMAIN) for task in tasks]
    execute = faulty_executor(DOMAIN, tasks, fault_share, 0)
    DOMAIN.expert().play(episodes, execute, lambda index: None)
    return [episode.trajectory("expert") for episode in episodes]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trajectories")
    write_trajectories(folder / TRAJECTORIES_FILE, played(26, fault_share=0.5))
    write_pairs(folder, play_pairs(DOMAIN.expert(), training_pairs(HARNESS, DOMAIN, 4, seed=0), DOMAIN))
    return folder


def settings(**sections: dict[str, object]) -> RunConfig:
    small = {"states": 6, "tasks_per_state": 2}
    given = {"augment": small, "sft": {"openings_per_state": 1}}
    merged = {name: {**given.get(name, {}), **sections.get(name, {})} for name in {*given, *sections}}
    return parse_config({"domain": "live_shop", **merged}, where="test")


def test_every_family_belongs_to_exactly_one_dimension() -> None:
    listed = [family for families in DIMENSIONS.values() for family in families]
    assert sorted(listed) == sorted(FAMILIES)


@pytest.mark.parametrize("left_out", sorted(DIMENSIONS))
def test_a_dimension_left_out_is_in_no_state_and_the_others_are(left_out: str) -> None:
    overrides = {"augment.families": "full", "augment.without": [left_out]}
    config = parse_config(apply_overrides({}, overrides), where="test")
    assert parse_config(config.model_dump(mode="json"), where="test") == config
    states = sample_states(HARNESS, count=40, run_seed=1, split="train", config=config.augment)
    used = {family for state in states for family in state.families}
    assert not used & set(DIMENSIONS[left_out])
    for dimension, families in DIMENSIONS.items():
        assert dimension == left_out or used & set(families)


def test_faults_cannot_stay_where_hooks_are_left_out_nor_can_nothing_be_left() -> None:
    with pytest.raises(BadInput, match=r"rl\.fault_share must be 0"):
        parse_config({"augment": {"without": ["hooks"]}, "rl": {"fault_share": 0.3}}, where="test")
    with pytest.raises(BadInput, match="without tools no family is left"):
        parse_config({"augment": {"families": ["T1"], "without": ["tools"]}}, where="test")


def test_nothing_left_out_is_what_it_was() -> None:
    assert AugmentConfig(without=()) == AugmentConfig()


def test_controls_train_on_the_same_number_of_tokens_up_to_one_pack(
    folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    totals, largest = [], 0
    for sections in (
        {"sft": {"control": "fixed"}},
        {"sft": {"control": "hsa"}},
        {"augment": {"without": ["tools"]}},
        {"generate": {"twin_pairs": 4}},
    ):
        config = settings(**{**sections, "sft": {**sections.get("sft", {}), "token_budget": 14_000}})
        packs = prepare_sft(config, HARNESS, folder, tokenizer)
        collate = collator(packs, config, HARNESS, tokenizer)
        counts = [collate.tokens(pack) for pack in packs]
        assert counts == [count_tokens(collate.tensors(pack))["training_tokens"] for pack in packs]
        totals.append(sum(counts))
        largest = max(largest, *counts)
    assert all(14_000 - largest < total <= 14_000 for total in totals)


def test_a_budget_beyond_the_packs_is_refused(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(BadInput, match=r"fewer than the 9,000,000 of sft\.token_budget.*augment\.states"):
        prepare_sft(settings(sft={"token_budget": 9_000_000}), HARNESS, folder, tokenizer)


def test_the_fixed_control_sees_one_harness_only(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    config = settings(sft={"control": "fixed"}, generate={"twin_pairs": 4})
    for pack in prepare_sft(config, HARNESS, folder, tokenizer):
        assert (pack.state_seed, pack.state, pack.twin) == (None, None, None)


@given(plain=st.integers(0, 2000), share=st.floats(0.001, 0.99))
def test_the_rare_kind_never_has_more_than_its_share(plain: int, share: float) -> None:
    allowed = rare_allowed(plain, share)
    assert allowed <= share * (plain + allowed) + 1e-9
    assert allowed + 1 > share * (plain + allowed + 1) - 1e-6


def test_faults_refusals_and_twins_are_kept_few_where_that_is_asked_for(
    folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    trajectories = played(80, fault_share=0.3)
    kinds = [kind_of(one) for one in trajectories]
    assert min(kinds.count(kind) for kind in ("fault", "decline", "plain")) > 3
    few = limit_rare(trajectories, 0.05, seed=0)
    for kind in ("fault", "decline"):
        number = sum(kind_of(one) == kind for one in few)
        assert 0 < number <= 0.05 * (kinds.count("plain") + number)
    assert sum(kind_of(one) == "plain" for one in few) == kinds.count("plain")
    assert limit_rare(trajectories, 1.0, seed=0) == trajectories
    config = settings(generate={"twin_pairs": 4}, sft={"rare_share": 0.02}, augment={"states": 3})
    packs = prepare_sft(config, HARNESS, folder, tokenizer)
    assert not any(pack.twin for pack in packs)


@pytest.fixture
def base(tmp_path: Path, tiny_model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> Path:
    tiny_model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture(scope="module")
def packs() -> list[PlannedPack]:
    return plan_packs(played(8), [0, 1, 2, 3, 4, 5], 1, 1, seed=0)


@pytest.mark.parametrize(("accuracy", "steps"), [(0.9, 2), (0.1, 6)])
def test_training_ends_at_the_asked_accuracy_and_logs_each_look(
    tmp_path: Path,
    base: Path,
    packs: list[PlannedPack],
    monkeypatch: pytest.MonkeyPatch,
    accuracy: float,
    steps: int,
) -> None:
    monkeypatch.setattr(StopAtAccuracy, "_play", lambda self: accuracy)
    config = settings(sft={"stop_accuracy": 0.8, "stop_every": 2}).sft
    log = tmp_path / "log.jsonl"
    tasks = hard_tasks(HARNESS, DOMAIN, AugmentConfig(), 2, 0, (), frozenset())
    train_sft(
        base,
        packs,
        HARNESS,
        AugmentConfig(),
        config,
        work=tmp_path / "w",
        log=log,
        seed=0,
        hard=(DOMAIN, tasks),
    )
    lines = read_step_log(log)
    assert len(lines) == steps
    assert [line.get("hard_accuracy") for line in lines[:2]] == [None, accuracy]


def test_a_look_plays_the_tasks_with_the_model(
    tiny_model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast
) -> None:
    tasks = hard_tasks(HARNESS, DOMAIN, AugmentConfig(), 1, 0, ("host",), frozenset())
    stop = StopAtAccuracy(tiny_model, tokenizer, tasks, DOMAIN, accuracy=0.0, every=2)
    control = TrainerControl()
    arguments: Any = None
    stop.on_step_end(arguments, TrainerState(global_step=1), control, model=tiny_model)
    assert stop.note() == {}
    stop.on_step_end(arguments, TrainerState(global_step=2), control, model=tiny_model)
    assert stop.note() == {"hard_accuracy": 0.0}
    assert control.should_training_stop


def test_hard_tasks_are_not_trained_on_and_their_states_are_augmented() -> None:
    some = hard_tasks(HARNESS, DOMAIN, AugmentConfig(), 3, 0, (), frozenset())
    trained = frozenset(task.digest for _, task in some)
    others = hard_tasks(HARNESS, DOMAIN, AugmentConfig(), 3, 0, (), trained)
    assert not trained & {task.digest for _, task in others}
    assert len(others) == 3
    assert all(state.families and state.split == "train" for state, _ in some)


def test_it_is_refused_in_several_processes() -> None:
    with pytest.raises(BadInput, match=r"sft\.stop_accuracy needs distributed\.nodes=0"):
        settings(sft={"stop_accuracy": 0.8}, distributed={"nodes": 2})


def test_packs_that_are_fewer_than_a_step_are_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    config = settings(sft={"packs_per_step": 5}).sft
    with pytest.raises(BadInput, match="1 packs are fewer than one batch of 5"):
        train_sft(
            tmp_path / "absent",
            [PlannedPack(None, ())],
            HARNESS,
            AugmentConfig(),
            config,
            work=tmp_path,
            log=tmp_path / "log",
            seed=0,
        )
