from collections import Counter
from pathlib import Path

import pytest

from hat.domains.base import Domain, get_domain
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.run import evaluate_policy, items_digest
from hat.evaluation.suites import build_suites, held_out_digests
from hat.harness.model import Harness
from hat.harness.registry import Registry

REGISTRY = Path(__file__).parents[3] / "harness_registry"
SMALL = EvaluateConfig(live_stream_qa=30, harness_variant_qa=30, tool_prompt_robustness=12)


@pytest.fixture(scope="module")
def harness() -> Harness:
    return Registry(REGISTRY).load("live-shop", "1.0.0")


@pytest.fixture(scope="module")
def domain() -> Domain:
    return get_domain("live_shop")


def test_default_variants_use_fifty_states_with_at_most_four_tasks_and_one_session_each(harness, domain):
    items = build_suites(harness, domain, EvaluateConfig())["harness_variant_qa"]
    states = Counter(item.state.digest for item in items)
    assert len(items) == 150
    assert len(states) >= 50
    assert max(states.values()) <= 4
    sessions = {item.state.digest: set() for item in items}
    for item in items:
        sessions[item.state.digest].add(tuple(sorted(item.task.session.items())))
        assert item.state.families
        assert item.state.split == "dev"
        assert item.state.canonical.layout != "xml"
    assert all(len(of_state) == 1 for of_state in sessions.values())


def test_the_same_settings_give_the_same_items_and_another_seed_others(harness, domain):
    def keys(config):
        return [
            (i.id, i.task.digest, i.state.digest)
            for items in build_suites(harness, domain, config).values()
            for i in items
        ]

    assert keys(SMALL) == keys(SMALL)
    assert not set(keys(SMALL)) & set(keys(SMALL.model_copy(update={"seed": 1})))
    assert len(set(keys(SMALL))) == len(keys(SMALL))


def test_the_base_models_items_are_the_first_of_the_candidates(harness, domain):
    whole, part = build_suites(harness, domain, SMALL), build_suites(harness, domain, SMALL.limited(9))
    for suite, items in part.items():
        assert items == whole[suite][:9]


def test_robustness_has_a_third_of_each_kind(harness, domain):
    items = build_suites(harness, domain, EvaluateConfig())["tool_prompt_robustness"]
    assert Counter(item.kind for item in items) == {"distractor_tools": 14, "unsolvable": 13, "faults": 13}
    own_tools = {tool.name for tool in harness.tools}
    for item in items:
        tools = {tool.name for tool in item.state.canonical.tools}
        assert (tools > own_tools) == (item.kind == "distractor_tools")
        assert item.task.answerable == (item.kind != "unsolvable")
        assert (item.faults is not None) == (item.kind == "faults")
        assert item.kind != "faults" or item.task.operations


def test_test_items_begin_with_the_hand_written_ones_and_use_the_test_split(harness, domain):
    config = EvaluateConfig(live_stream_qa=60, harness_variant_qa=6, tool_prompt_robustness=6, split="test")
    suites = build_suites(harness, domain, config)
    assert [item.task.source for item in suites["live_stream_qa"][:51]] == ["hand-written"] * 50 + [
        "generated"
    ]
    assert {item.task.split for items in suites.values() for item in items} == {"test"}


def test_evaluated_tasks_are_not_among_training_tasks(harness, domain):
    trained = {task.digest for seed in range(5) for task in domain.sample_tasks("train", 300, seed)}
    assert not trained & held_out_digests(harness, domain, SMALL).keys()


def test_impossible_numbers_are_refused(harness, domain):
    with pytest.raises(BadInput):
        build_suites(harness, domain, EvaluateConfig(tool_prompt_robustness=100_000))
    with pytest.raises(BadInput, match="no suite has any item"):
        evaluate_policy(domain.expert(), harness, domain, SMALL.only(()))


def test_the_expert_solves_every_item_and_meets_the_faults(harness, domain):
    document = evaluate_policy(domain.expert(), harness, domain, SMALL)
    assert set(document["suites"]) == {"live_stream_qa", "harness_variant_qa", "tool_prompt_robustness"}
    for suite in document["suites"].values():
        assert suite["accuracy"] == 1.0
        assert suite["accuracy_ci"][1] == 1.0
        assert suite["over_refusal_rate"] == 0.0
        assert suite["n"] == len(suite["items"])
    failing = [i for i in document["suites"]["tool_prompt_robustness"]["items"] if i["kind"] == "faults"]
    assert all(len(item["calls"]) > len(set(item["calls"])) for item in failing), "each has a repeated call"


def test_the_baseline_stands_beside_every_policy_on_the_same_items(harness, domain):
    of_expert = evaluate_policy(domain.expert(), harness, domain, SMALL)
    of_baseline = evaluate_policy(domain.baseline(), harness, domain, SMALL)
    assert of_expert["items_digest"] == of_baseline["items_digest"]
    for suite, result in of_baseline["suites"].items():
        assert result["baseline_accuracy"] == result["accuracy"] < 1
        assert of_expert["suites"][suite]["baseline_accuracy"] == result["accuracy"]


def test_the_items_digest_tells_states_apart_and_not_answers():
    item = {"id": "a", "task_digest": "b", "state": {"digest": "c"}, "correct": 1}
    digest = items_digest({"live_stream_qa": {"items": [item]}})
    assert digest == items_digest({"live_stream_qa": {"items": [{**item, "correct": 0}]}})
    assert digest != items_digest({"live_stream_qa": {"items": [{**item, "state": {"digest": "d"}}]}})
