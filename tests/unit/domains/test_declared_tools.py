"""Declared tools: tasks drawn from schemas, receipts only for right calls, and splits that share no words."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import domain_of
from hat.domains.declared_tools.domain import DeclaredTools
from hat.domains.declared_tools.values import WORDS, CannotSample, sample_valid
from hat.errors import BadInput
from hat.harness.exchange.imports import import_harness
from hat.harness.registry import Registry

LIST = """{"tools": [
 {"name": "find_user", "description": "Find a user. Slow.", "inputSchema": {"type": "object", "required": ["who"],
  "properties": {"who": {"type": "string"}, "page": {"type": "integer", "minimum": 1}}}},
 {"name": "who_am_i", "description": "Tell who asks.", "inputSchema": {"type": "object", "additionalProperties": false}}
]}"""
SCHEMAS = [
    {"properties": {"a": {"type": "string", "format": "date"}}, "required": ["a"]},
    {"properties": {"a": {"type": "integer", "exclusiveMinimum": 3, "maximum": 9, "multipleOf": 3}}, "required": ["a"]},
    {"properties": {"a": {"type": "string", "minLength": 40, "maxLength": 41}}, "required": ["a"]},
    {"properties": {"a": {"$ref": "#/$defs/T"}}, "required": ["a"], "$defs": {"T": {"type": "object",
     "properties": {"next": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "null"}]}}, "required": ["next"]}}},
    {"oneOf": [{"required": ["x"], "properties": {"x": {"const": 1}}}, {"required": ["y"],
     "properties": {"y": {"enum": ["p"]}}}]},
    {"allOf": [{"required": ["x"]}, {"properties": {"x": {"type": "boolean"}}}]},
    {"properties": {"a": {"type": "array", "items": {"type": ["null", "number"]}, "minItems": 2}}, "required": ["a"]},
    {"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"], "properties":
     {"a": {"type": "array", "items": [{"const": 1}, {"const": 2}], "minItems": 2}}},
]  # fmt: skip


@settings(max_examples=120, deadline=None, derandomize=True)
@given(index=st.integers(0, len(SCHEMAS) - 1), seed=st.integers(0, 2**32))
def test_drawn_arguments_satisfy_the_schema(index, seed):
    schema = {"type": "object", **SCHEMAS[index]}
    value = sample_valid(schema, random.Random(seed), "train")
    kind = Draft7Validator if "draft-07" in str(schema.get("$schema")) else Draft202012Validator
    assert kind(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"type": "object", "required": ["a"], "properties": {"a": {"pattern": "^\\d{17}-never$"}}},
        {"type": "object", "not": {}},
    ],
)
def test_what_cannot_be_satisfied_is_said(schema):
    with pytest.raises(CannotSample):
        sample_valid(schema, random.Random(0), "train")


@pytest.fixture
def harness(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(LIST)
    import_harness(Registry(tmp_path / "registry"), path, "users", "1.0.0")
    return Registry(tmp_path / "registry").load("users")


def played(policy, harness, tasks, domain):
    episodes = [Episode(HarnessState.original(harness), task, domain) for task in tasks]
    policy.play(episodes, domain.execute, lambda index: None)
    return [domain.score(e.task, e.trajectory("x"), harness) for e in episodes]


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_expert_is_right_on_every_task(harness, split):
    domain = domain_of(harness)
    tasks = domain.sample_tasks(split, 12, seed=3)
    assert tasks == domain.sample_tasks(split, 12, seed=3)
    assert len({task.digest for task in tasks}) == 12
    for scores in played(domain.expert(), harness, tasks, domain):
        assert (scores.accuracy, scores.effectiveness, scores.tool_rationality) == (1, 1.0, 1.0)
        assert scores.skill_selection == 1.0


def test_the_baseline_loads_no_skill_and_is_stopped_by_the_hook(harness):
    domain = domain_of(harness)
    scores = played(domain.baseline(), harness, domain.sample_tasks("dev", 4, seed=0), domain)
    assert {score.accuracy for score in scores} == {0}


def test_only_the_right_call_earns_the_gold_receipt(harness):
    domain = domain_of(harness)
    task = next(t for t in domain.sample_tasks("dev", 4, seed=0) if t.operations[0][0] == "find_user")
    ((operation, arguments),) = task.operations
    right = domain.execute(task, operation, arguments)
    assert right.value["receipt"] == task.facts[0].value
    assert domain.execute(task, operation, {**arguments, "who": "nobody"}).value != right.value
    assert domain.execute(task, operation, {**arguments, "page": 0}).code == "invalid_arguments"
    assert domain.execute(task, "no_such", {}).code == "unknown_operation"


def test_splits_share_no_words():
    words = [set(WORDS[split]) for split in ("train", "dev", "test")]
    assert sum(map(len, words)) == len(set().union(*words))


def test_without_a_harness_there_is_nothing_to_ask_for():
    with pytest.raises(BadInput, match="made of a harness's tools"):
        DeclaredTools().sample_tasks("train", 1, 0)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 10**9},
        {"type": "array", "items": {"type": "string"}, "minItems": 10**8},
    ],
)
def test_a_schema_that_asks_for_a_giant_value_is_given_none(schema: dict[str, Any]) -> None:
    giant = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    with pytest.raises(CannotSample):
        sample_valid(giant, random.Random(0), "train")
