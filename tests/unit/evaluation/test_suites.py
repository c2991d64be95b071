from collections import Counter
from pathlib import Path

import pytest

from hat.domains.base import Domain, get_domain
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig, RobustnessConfig
from hat.evaluation.run import evaluate_policy, items_digest
from hat.evaluation.sub_suites import sub_suites
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


FURTHER = RobustnessConfig(twin_pairs=12, faults=20, distractor_tools=4, unsolvable=5)
WITH_FURTHER = EvaluateConfig(tool_prompt_robustness=3, robustness=FURTHER).only(("tool_prompt_robustness",))


def test_sub_suites_are_added_by_their_own_numbers_and_change_no_other_item(harness, domain):
    without = build_suites(harness, domain, SMALL)
    asked = SMALL.model_copy(update={"robustness": FURTHER})
    suites = build_suites(harness, domain, asked)
    more = suites["tool_prompt_robustness"][12:]
    assert {suite: items[: len(without[suite])] for suite, items in suites.items()} == without
    assert Counter(item.kind for item in more) == {
        "distractor_tools": 4,
        "unsolvable": 5,
        "faults": 20,
        **dict.fromkeys(("twin_C1", "twin_C2", "twin_C3", "twin_C4"), 6),
    }
    assert len({item.id for item in suites["tool_prompt_robustness"]}) == 12 + 4 + 5 + 20 + 24


def test_sub_suites_alone_are_enough(harness, domain):
    config = EvaluateConfig(robustness=RobustnessConfig(unsolvable=2)).limited(0)
    assert build_suites(harness, domain, config) == {}
    config = EvaluateConfig(
        live_stream_qa=0,
        harness_variant_qa=0,
        tool_prompt_robustness=0,
        robustness=RobustnessConfig(unsolvable=2),
    )
    assert [item.kind for item in build_suites(harness, domain, config)["tool_prompt_robustness"]] == [
        "unsolvable",
        "unsolvable",
    ]
    assert config.only(("live_stream_qa",)).robustness == RobustnessConfig()


def test_a_smaller_evaluation_keeps_the_members_of_a_pair_together(harness, domain):
    few = build_suites(harness, domain, WITH_FURTHER.limited(5))["tool_prompt_robustness"]
    pairs = Counter(item.pair for item in few if item.pair)
    assert list(pairs.values()) == [2, 2]
    whole = {item.id: item for item in build_suites(harness, domain, WITH_FURTHER)["tool_prompt_robustness"]}
    assert all(whole[item.id] == item for item in few)


def test_twins_are_summed_up_by_pair_beside_the_policy_that_ignores_the_harness(harness, domain):
    suite = evaluate_policy(domain.expert(), harness, domain, WITH_FURTHER)["suites"][
        "tool_prompt_robustness"
    ]
    assert suite["accuracy"] == 1.0
    for kind in ("twin_C1", "twin_C2", "twin_C3", "twin_C4"):
        result = suite["sub_suites"][kind]
        assert (result["n"], result["pairs"]) == (6, 3)
        assert result["accuracy"] == result["pair_accuracy"] == result["pair_exact"] == 1.0
        assert result["pair_exact_ci"][0] > 0.4
        assert result["blind_pair_exact"] == 0.0
        assert result["blind_accuracy"] == (1.0 if kind == "twin_C3" else 0.5)
    faults = suite["sub_suites"]["faults"]
    assert (faults["n"], faults["accuracy"]) == (21, 1.0)
    assert faults["baseline_accuracy"] < 0.5
    assert "pairs" not in faults


def test_a_pair_counts_only_when_both_members_are_right(harness, domain):
    class Blind:
        name = "blind"
        play = staticmethod(domain.twins.blind(harness).play)

    document = evaluate_policy(Blind(), harness, domain, WITH_FURTHER)
    for kind in ("twin_C1", "twin_C2", "twin_C4"):
        result = document["suites"]["tool_prompt_robustness"]["sub_suites"][kind]
        assert result["accuracy"] == 0.5
        assert result["pair_accuracy"] == result["blind_pair_accuracy"] == 0.0


def test_a_pair_of_which_one_was_not_judged_is_not_counted():
    def item(pair, correct):
        scores = {"correct": correct, "exact": correct, "blind_correct": 0, "blind_exact": 0}
        return {"kind": "twin_C1", "pair": pair, "baseline_correct": 0, **scores}

    items = [item("a", 1), item("a", None), item("b", 1), item("b", 1), item("c", 1), item("c", 0)]
    result = sub_suites(items)["twin_C1"]
    assert (result["pairs"], result["pair_accuracy"]) == (3, 0.5)
    assert sub_suites(items[:2])["twin_C1"]["pair_accuracy"] is None
    assert sub_suites([{"kind": ""}]) == {}
