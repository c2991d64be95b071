"""Composed RL groups: the asked shares, both twins in one step, only tasks that teach something."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.agent.episode import Episode
from hat.agent.policy import Executor
from hat.augment.config import AugmentConfig
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.training import screening
from hat.training.config import RLConfig
from hat.training.mixture import FAULT, PLAIN, TWIN, UNSOLVABLE, Unit, compose, plan_units, unit_counts
from hat.training.screening import keep_unsettled, screening_report, solved_counts

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
CONFIG = RLConfig(
    steps=10,
    groups_per_step=4,
    candidates=1,
    group_size=2,
    augmented_share=0.5,
    fault_share=0.3,
    twin_share=0.2,
    unsolvable_share=0.15,
)


@pytest.fixture(scope="module")
def units() -> list[Unit]:
    return plan_units(HARNESS, DOMAIN, CONFIG, AugmentConfig(), seed=1)


def test_the_groups_have_the_asked_shares(units: list[Unit]) -> None:
    assert Counter(unit.kind for unit in units) == {PLAIN: 14, FAULT: 12, UNSOLVABLE: 6, TWIN: 4}
    alone = [unit.groups[0] for unit in units if unit.kind != TWIN]
    assert sum(bool(group.state.families) for group in alone) == 16
    for unit in units:
        for group in unit.groups:
            assert group.gold_reply
            assert group.task.split == "train"
            assert (group.faults is not None) == (unit.kind == FAULT)
            assert unit.kind == TWIN or group.task.answerable == (unit.kind != UNSOLVABLE)
            assert unit.kind != FAULT or group.task.operations
    assert len({group.task.id for unit in units for group in unit.groups}) == 40


def test_the_plan_is_a_function_of_its_seed(units: list[Unit]) -> None:
    again = plan_units(HARNESS, DOMAIN, CONFIG, AugmentConfig(), seed=1)
    assert identity(again) == identity(units)
    assert identity(plan_units(HARNESS, DOMAIN, CONFIG, AugmentConfig(), seed=2)) != identity(units)


def identity(units: Sequence[Unit]) -> list[Any]:
    return [(group.task.id, group.state.digest) for unit in units for group in unit.groups]


def test_both_members_of_a_pair_are_in_one_step_and_every_unit_is_used_once(units: list[Unit]) -> None:
    groups = compose(units, CONFIG, seed=0)
    steps = [groups[start : start + 4] for start in range(0, 40, 4)]
    for unit in units:
        holding = [step for step in steps if unit.groups[0] in step]
        assert len(holding) == 1
        assert all(member in holding[0] for member in unit.groups)


def made_up(kind: str, number: int) -> Unit:
    group: Any = SimpleNamespace(name=f"{kind}-{number}", kind=kind)
    member: Any = SimpleNamespace(name=f"{kind}-{number}/twin", kind=kind)
    return Unit(kind, (group, member) if kind == TWIN else (group,))


@given(
    st.integers(1, 12),
    st.integers(2, 6),
    st.fixed_dictionaries({kind: st.integers(0, 3) for kind in (PLAIN, FAULT, UNSOLVABLE, TWIN)}),
    st.floats(0, 0.6),
)
@settings(deadline=None)
def test_whatever_screening_left_the_steps_are_full_and_pairs_whole(
    steps: int, size: int, left: dict[str, int], twin_share: float
) -> None:
    config = RLConfig(
        steps=steps,
        groups_per_step=size,
        candidates=1,
        twin_share=twin_share,
        fault_share=0.2,
        unsolvable_share=0.15,
    )
    units = [made_up(kind, number) for kind, count in left.items() for number in range(count)]
    if not left[PLAIN] + left[FAULT] + left[UNSOLVABLE]:
        needed = unit_counts(steps * size, config)[TWIN] * 2
        if needed < steps * size or not left[TWIN]:
            with pytest.raises(BadInput, match="no task is left"):
                compose(units, config, seed=0)
            return
    groups: list[Any] = compose(units, config, seed=0)
    assert len(groups) == steps * size
    for start in range(0, len(groups), size):
        names = Counter(group.name for group in groups[start : start + size] if group.kind == TWIN)
        for name, count in names.items():
            other = name.removesuffix("/twin") if name.endswith("/twin") else f"{name}/twin"
            assert names[other] == count


def test_replayed_steps_take_no_groups(units: list[Unit]) -> None:
    config = CONFIG.model_copy(update={"replay_every": 4})
    assert config.own_rounds == 8
    assert len(compose(units, config, seed=0)) == 32


def test_only_what_is_solved_sometimes_is_kept(units: list[Unit]) -> None:
    some = [made_up(PLAIN, 0), made_up(PLAIN, 1), made_up(PLAIN, 2), made_up(TWIN, 0), made_up(TWIN, 1)]
    solved = [0, 1, 4, 4, 0, 4, 4]
    kept = keep_unsettled(some, solved, 4)
    assert kept == [some[1], some[3]]
    assert screening_report(some, solved, kept) == {
        "tried": {PLAIN: 3, TWIN: 2},
        "kept": {PLAIN: 1, TWIN: 1},
        "solved": {"0": 2, "1": 1, "4": 4},
    }


def test_each_task_is_tried_as_often_as_asked_under_its_state_and_faults(
    units: list[Unit], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    class Half:
        """Plays every second try by the expert and the others wrongly, in place of a model."""

        def __init__(self, model: object, **settings: Any) -> None:
            asked.update(settings)

        def play(
            self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]
        ) -> None:
            DOMAIN.expert().play(episodes[::2], execute, on_done)
            asked["episodes"] = episodes
            for episode in episodes[1::2]:
                while not episode.done:
                    episode.submit("nothing of the kind")

    monkeypatch.setattr(screening, "LocalPolicy", Half)
    groups = [unit.groups[0] for unit in units if unit.kind == FAULT][:3]
    model: Any = (None, None)
    assert solved_counts(model, groups, DOMAIN, CONFIG, seed=0) == [2, 2, 2]
    assert asked["temperature"] == 1.2
    assert len(asked["episodes"]) == 12
    observed = [o.code for turn in asked["episodes"][0].trajectory().turns for o in turn.observations]
    assert any(observed)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"candidates": 2}, "candidates must be 1"),
        ({"groups_per_step": 1}, "groups_per_step must be at least 2"),
        ({"unsolvable_share": 0.9}, "more than 1 together"),
        ({"replay_every": 1}, "replay in every step"),
        ({"checkpoint_steps": 3, "updates_per_rollout": 2}, "multiple of updates_per_rollout"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        RLConfig(**{**CONFIG.model_dump(), **change})


def test_a_reward_function_that_raises_is_refused_before_any_step(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = get_domain("live_shop")

    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(domain, "score", broken)
    with pytest.raises(
        BadInput, match="the reward function raised ZeroDivisionError: division by zero"
    ) as told:
        plan_units(HARNESS, domain, CONFIG, AugmentConfig(), seed=1)
    assert "task train-" in str(told.value.where)
    assert "score" in told.value.mend


def test_groups_that_do_not_exist_are_named() -> None:
    config = CONFIG.model_copy(update={"intents": ("off_topic",)})
    with pytest.raises(BadInput, match="only 0 tasks of"):
        plan_units(HARNESS, DOMAIN, config, AugmentConfig(), seed=1)
