"""Plans of a training run: every trajectory about equally often, one session a pack, refused when too few."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.training.plan import plan_packs
from hat.trajectories.record import Trajectory

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")


@pytest.fixture(scope="module")
def trajectories() -> list[Trajectory]:
    domain = get_domain("live_shop")
    tasks = domain.sample_tasks("train", 80, 1)
    episodes = [Episode(HarnessState.original(HARNESS), task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    return [episode.trajectory("expert") for episode in episodes]


def test_a_pack_is_of_one_session_and_none_of_its_trajectories_comes_twice(
    trajectories: list[Trajectory],
) -> None:
    for pack in plan_packs(trajectories, range(24), 2, 3, seed=0):
        chosen = [*pack.trajectories, *pack.openings]
        assert (len(pack.trajectories), len(pack.openings)) == (2, 3)
        assert len({one.id for one in chosen}) == 5
        assert len({tuple(one.task.session.items()) for one in chosen}) == 1


def test_trajectories_of_a_session_are_used_about_equally_often(trajectories: list[Trajectory]) -> None:
    per_session = Counter(str(one.task.session) for one in trajectories)
    trajectories = [one for one in trajectories if per_session[str(one.task.session)] >= 5]
    packs = plan_packs(trajectories, range(64), 2, 3, seed=0)
    uses = Counter(one.id for pack in packs for one in (*pack.trajectories, *pack.openings))
    sessions: dict[str, list[int]] = {}
    for one in trajectories:
        sessions.setdefault(str(one.task.session), []).append(uses[one.id])
    assert all(max(counts) - min(counts) <= 1 for counts in sessions.values())
    assert sum(uses.values()) == 64 * 5


def test_the_same_seed_gives_the_same_plan_and_each_state_is_used_once(
    trajectories: list[Trajectory],
) -> None:
    first = plan_packs(trajectories, range(16), 2, 1, seed=4)
    assert first == plan_packs(trajectories, range(16), 2, 1, seed=4)
    assert first != plan_packs(trajectories, range(16), 2, 1, seed=5)
    assert sorted(pack.state_seed for pack in first) == list(range(16))


def test_too_few_trajectories_are_refused(trajectories: list[Trajectory]) -> None:
    with pytest.raises(BadInput, match="no trajectories"):
        plan_packs([], [0], 1, 0, seed=0)
    with pytest.raises(BadInput, match="fewer than the 99"):
        plan_packs(trajectories, [0], 90, 9, seed=0)


def test_a_session_too_small_for_a_pack_is_left_out(trajectories: list[Trajectory]) -> None:
    lonely = replace(trajectories[0], task=replace(trajectories[0].task, session={"host": "Nobody"}))
    packs = plan_packs([*trajectories, lonely], range(16), 2, 2, seed=0)
    assert len(packs) == 16
    assert not any("Nobody" in one.task.session.values() for pack in packs for one in pack.trajectories)
