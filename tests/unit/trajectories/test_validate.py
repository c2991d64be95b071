"""Validation of trajectories: good data passes, and each kind of fault is named with an example."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from hat.agent.calls import Call
from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.trajectories.config import ValidateConfig
from hat.trajectories.held_out import sampled_digests
from hat.trajectories.validate import validate_rows
from hat.trajectories.validate_rows import COLUMNS, read_rows, trajectory_row

REGISTRY = Path(__file__).parents[3] / "harness_registry"
CONFIG = ValidateConfig(minimum_trajectories=4)


@pytest.fixture(scope="module")
def harness():
    return Registry(REGISTRY).load("live-shop", "1.0.0")


@pytest.fixture(scope="module")
def domain():
    return get_domain("live_shop")


@pytest.fixture(scope="module")
def trajectories(harness, domain):
    """Real episodes of the scripted expert, scored by the domain."""
    state = HarnessState.original(harness)
    episodes = [Episode(state, task, domain) for task in domain.sample_tasks("train", 8, 3)]

    def execute(task, operation, arguments, attempt):
        return domain.execute(task, operation, arguments, attempt)

    domain.expert().play(episodes, execute, lambda index: None)
    played = [episode.trajectory("scripted-expert") for episode in episodes]
    return [one.with_scores(domain.score(one.task, one, harness)) for one in played]


def validated(trajectories, harness, held_out=None, config=CONFIG):
    rows = [
        trajectory_row(one, number, harness, held_out or {})
        for number, one in enumerate(trajectories, start=1)
    ]
    return validate_rows(rows, harness, config)


def failed(report):
    return {outcome.name for outcome in report.outcomes if not outcome.met}


def with_first_call(trajectory, call):
    place = next(index for index, turn in enumerate(trajectory.turns) if turn.calls)
    turns = list(trajectory.turns)
    turns[place] = replace(turns[place], calls=(call, *turns[place].calls[1:]))
    return replace(trajectory, turns=tuple(turns))


def test_the_experts_trajectories_meet_every_expectation(trajectories, harness, domain):
    report = validated(trajectories, harness, sampled_digests(domain, 50))
    assert failed(report) == set()
    assert report.rows == 8
    report.require("here")


def test_no_rows_at_all_fail(harness):
    report = validate_rows([], harness, ValidateConfig(minimum_trajectories=1))
    assert failed(report) == {"row count"}


def test_too_few_rows_fail_and_the_message_has_both_numbers(trajectories, harness):
    with pytest.raises(BadInput, match="at least 20 trajectories, found 8"):
        validated(trajectories, harness, config=ValidateConfig(minimum_trajectories=20)).require("data")


def test_an_undeclared_tool_and_a_call_against_the_schema_are_named(trajectories, harness):
    changed = [
        with_first_call(trajectories[0], Call("delete_all", {})),
        with_first_call(trajectories[1], Call("get_product_info", {"link_id": "three"})),
        *trajectories[2:],
    ]
    report = validated(changed, harness)
    assert failed(report) == {"declared tools", "valid calls"}
    with pytest.raises(BadInput, match="delete_all") as raised:
        report.require("data")
    assert "get_product_info: `link_id` must be integer" in str(raised.value)
    assert raised.value.exit_status == 2


def test_an_item_held_out_for_evaluation_is_found(trajectories, harness):
    report = validated(trajectories, harness, {trajectories[2].task.digest: "live_stream_qa"})
    (outcome,) = [outcome for outcome in report.outcomes if not outcome.met]
    assert outcome.name == "no leakage"
    assert outcome.examples == (f"line 3 ({trajectories[2].id}): live_stream_qa",)


def test_a_test_question_played_as_training_data_is_leakage(harness, domain, trajectories):
    task = replace(domain.hand_written_tasks()[0], split="train")
    leaked = replace(trajectories[0], task=task)
    assert failed(validated([leaked, *trajectories[1:]], harness, sampled_digests(domain, 50))) == {
        "no leakage"
    }


def test_another_split_fails(trajectories, harness):
    other = replace(trajectories[0], task=replace(trajectories[0].task, split="dev"))
    assert failed(validated([other, *trajectories[1:]], harness)) == {"training split"}


def test_the_same_episode_under_two_ids_is_a_duplicate(trajectories, harness):
    twice = [*trajectories, replace(trajectories[0], id="another")]
    assert failed(validated(twice, harness)) == {"no duplicates"}


def test_one_id_for_two_episodes_fails(trajectories, harness):
    same_id = replace(trajectories[0], id=trajectories[1].id)
    assert failed(validated([same_id, *trajectories[1:]], harness)) == {"unique ids"}


@pytest.mark.parametrize(
    ("change", "expectations"),
    [
        (lambda one: replace(one, scores=replace(one.scores, accuracy=0)), {"accepted"}),
        (lambda one: replace(one, scores=None), {"scored"}),
        (lambda one: replace(one, end="retries_exhausted"), {"replied"}),
        (lambda one: replace(one, reply="a" * 161), {"reply length"}),
        (lambda one: replace(one, base_digest="0" * 64), {"harness"}),
        (lambda one: replace(one, turns=one.turns * 3), {"turns"}),
        (lambda one: replace(one, turns=(replace(one.turns[0], raw="<tool_call>"),)), {"readable turns"}),
        (lambda one: replace(one, task=replace(one.task, question="a" * 401)), {"question length"}),
    ],
)
def test_each_fault_fails_its_own_expectation(trajectories, harness, change, expectations):
    assert failed(validated([change(trajectories[0]), *trajectories[1:]], harness)) == expectations


def test_lines_that_are_no_trajectories_become_rows_that_say_so(trajectories, harness, tmp_path):
    path = tmp_path / "trajectories.jsonl"
    good = [json.dumps(one.to_json(), ensure_ascii=False) for one in trajectories]
    path.write_text("\n".join([*good, "{", "[]", '{"schema_version": 7}']), encoding="utf-8")
    rows = read_rows(path, harness, {})
    assert all(tuple(row) == COLUMNS for row in rows)
    report = validate_rows(rows, harness, CONFIG)
    (schema,) = [outcome for outcome in report.outcomes if outcome.name == "schema"]
    assert schema.unexpected == 3
    assert schema.examples[0].startswith("line 9: ")
    assert "schema version 7" in schema.examples[2]


def test_reading_back_a_file_gives_the_same_rows(trajectories, harness, tmp_path):
    path = tmp_path / "trajectories.jsonl"
    path.write_text("\n".join(json.dumps(one.to_json()) for one in trajectories), encoding="utf-8")
    assert read_rows(path, harness, {}) == [
        trajectory_row(one, number, harness, {}) for number, one in enumerate(trajectories, start=1)
    ]


def test_an_absent_file_is_bad_input(harness, tmp_path):
    with pytest.raises(BadInput, match=r"trajectories\.jsonl"):
        read_rows(tmp_path / "trajectories.jsonl", harness, {})


def test_validation_says_nothing_and_connects_to_nothing(trajectories, harness, monkeypatch, capfd):
    def refuse(*arguments, **keywords):
        raise AssertionError("a network connection was tried")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert validated(trajectories, harness).met
    assert capfd.readouterr() == ("", "")
