import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.agent.episode import Episode
from hat.agent.fault_kinds import CUT_OFF, WRONG_TYPE
from hat.agent.fault_recovery import check_recovery
from hat.agent.faults import ALL_FAULTS, FAULTS, REPORTED_FAULTS, FaultSchedule, with_faults
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.domains.live_shop.scoring import DOMAIN_ERRORS
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.trajectories.present import present

DOMAIN = get_domain("live_shop")
HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
ORIGINAL = HarnessState.original(HARNESS)
arguments = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)


@given(seed=st.integers(0, 99), operation=st.text(max_size=8), arguments=arguments)
def test_a_fault_depends_on_seed_call_and_attempt_only_and_passes(seed, operation, arguments):
    schedule = FaultSchedule(seed, kinds=ALL_FAULTS)
    kind = schedule.kind(operation, arguments, 0)
    assert kind in ALL_FAULTS
    assert kind == FaultSchedule(seed, kinds=ALL_FAULTS).kind(operation, dict(reversed(arguments.items())), 0)
    assert schedule.kind(operation, arguments, 1) is None


def test_the_share_of_failing_operations_is_about_what_was_asked():
    schedule = FaultSchedule(3, share=0.3)
    failed = sum(schedule.kind("stock", {"link_id": link}, 0) is not None for link in range(2000))
    assert 500 < failed < 700
    for kinds in (REPORTED_FAULTS, ALL_FAULTS):
        drawn = {FaultSchedule(3, kinds=kinds).kind("stock", {"link_id": link}, 0) for link in range(80)}
        assert drawn == set(kinds)


def test_faults_are_told_from_the_domains_own_errors():
    assert not set(ALL_FAULTS) & DOMAIN_ERRORS


def test_unknown_kinds_and_no_kinds_are_refused():
    with pytest.raises(BadInput, match="rust"):
        FaultSchedule(0, kinds=("rust",))
    with pytest.raises(BadInput, match="no kind"):
        FaultSchedule(0, kinds=())


def test_only_scheduled_tasks_fail_and_a_retry_gets_the_true_result():
    one, other = DOMAIN.sample_tasks("dev", 2, 1, intents=["price"])
    execute = with_faults(DOMAIN.execute, {one.id: FaultSchedule(0)})
    call = ("product_info", {"link_id": one.slots["link"]})
    assert execute(one, *call, 0).code in FAULTS
    assert execute(one, *call, 1) == DOMAIN.execute(one, *call)
    assert execute(other, *call, 0) == DOMAIN.execute(one, *call)


@pytest.mark.parametrize("kind", [CUT_OFF, WRONG_TYPE])
def test_a_silent_fault_shows_no_value_of_the_true_result(kind):
    for task in DOMAIN.sample_tasks("dev", 40, 5, intents=["price", "stock", "coupon", "shipping"]):
        operation, given_arguments = task.operations[0]
        execute = with_faults(DOMAIN.execute, {task.id: FaultSchedule(1, kinds=(kind,))})
        outcome = execute(task, operation, given_arguments, 0)
        true = DOMAIN.execute(task, operation, given_arguments)
        assert (outcome.status, outcome.code) == ("ok", kind)
        assert not isinstance(outcome.value, dict)
        shown = json.dumps(outcome.value)
        assert not any(value and str(value) in shown for value in true.value.values() if value is not True)


@pytest.mark.parametrize("kind", ALL_FAULTS)
def test_every_kind_of_fault_is_recovered_from_on_every_intent(kind):
    tasks = DOMAIN.sample_tasks("dev", 26, 2)
    assert list(check_recovery(ORIGINAL, tasks, DOMAIN, FaultSchedule(9, kinds=(kind,)))) == []


def test_faults_are_recovered_from_under_augmented_states():
    for seed in range(3):
        state = sample_state(HARNESS, seed=seed, split="dev", config=AugmentConfig(original_share=0))
        schedule = FaultSchedule(state.seed, kinds=ALL_FAULTS)
        assert list(check_recovery(state, DOMAIN.sample_tasks("dev", 13, seed), DOMAIN, schedule)) == []


def test_faults_that_never_pass_are_caught():
    tasks = DOMAIN.sample_tasks("dev", 3, 2, intents=["price"])
    problems = list(check_recovery(ORIGINAL, tasks, DOMAIN, FaultSchedule(9, attempts=99)))
    assert len(problems) == 3
    assert "reply" in problems[0]


def test_all_episodes_of_a_group_meet_the_same_faults_whatever_their_names_are():
    (task,) = DOMAIN.sample_tasks("dev", 1, 4, intents=["compare"])
    schedule = FaultSchedule(12, share=0.6, kinds=ALL_FAULTS)
    execute = with_faults(DOMAIN.execute, {task.id: schedule})
    renamed = sample_state(
        HARNESS, seed=3, split="dev", config=AugmentConfig(original_share=0, families=("T1", "T2"))
    )
    seen = []
    for state in (ORIGINAL, ORIGINAL, renamed):
        episode = Episode(state, task, DOMAIN)
        DOMAIN.expert().play([episode], execute, lambda index: None)
        seen.append([turn.observations for turn in episode.trajectory().turns])
    assert seen[0] == seen[1] == seen[2]


def test_the_model_sees_a_broken_result_as_the_result():
    (task,) = DOMAIN.sample_tasks("dev", 1, 4, intents=["stock"])
    execute = with_faults(DOMAIN.execute, {task.id: FaultSchedule(0, kinds=(CUT_OFF,))})
    episode = Episode(ORIGINAL, task, DOMAIN)
    DOMAIN.expert().play([episode], execute, lambda index: None)
    trajectory = episode.trajectory()
    assert present(trajectory, ORIGINAL) == episode.messages()
    tool_messages = [message["content"] for message in episode.messages() if message["role"] == "tool"]
    assert json.dumps('{"in_stock":') in tool_messages
    assert not any(CUT_OFF in str(message) for message in episode.messages())
