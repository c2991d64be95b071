"""The chain of later versions: clean, locked, apart from what triggers see, and solvable; its gold is its own."""

from pathlib import Path

import pytest

from hat.domains.base import Domain, get_domain
from hat.errors import BadInput
from hat.evaluation.full_suites.evolution import chain_registry, evolution_suite, later_versions
from hat.evaluation.full_suites.run import run_suites
from hat.evaluation.full_suites.settings import SuiteSettings
from hat.harness.lint import lint_path
from hat.harness.model import Harness
from hat.harness.registry import Registry

REPOSITORY = Path(__file__).parents[3]
CHAIN = ["1.2.0", "1.3.0", "2.0.0", "2.1.0", "3.0.0"]


@pytest.fixture(scope="module")
def harness() -> Harness:
    return Registry(REPOSITORY / "harness_registry").load("live-shop", "1.0.0")


@pytest.fixture(scope="module")
def domain() -> Domain:
    return get_domain("live_shop")


def test_the_chain_is_locked_and_its_one_warning_is_the_tool_that_stays_for_a_version() -> None:
    folder = chain_registry()
    assert [(p.rule, Path(p.file).parent.name) for p in lint_path(folder)] == [("operation-twice", "2.1.0")]
    assert list(Registry(folder).locked("live-shop")) == CHAIN


def test_no_trigger_sees_the_chain_and_each_version_follows_the_one_before(harness: Harness) -> None:
    watched = Registry(REPOSITORY / "harness_registry")
    assert not set(watched.versions("live-shop")) & set(CHAIN)
    later = later_versions(harness, chain_registry())
    assert [one.version for one in later] == CHAIN
    assert [one.parent for one in later] == [None, *CHAIN[:-1]]
    names = [{tool.name for tool in one.tools} for one in later]
    assert names[0] != names[1] != names[2] != names[3]
    assert not names[-1] & {tool.name for tool in harness.tools}


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_expert_solves_every_intent_of_every_version(
    harness: Harness, domain: Domain, split: str
) -> None:
    from hat.agent.episode import Episode
    from hat.augment.state import HarnessState
    from hat.evaluation.full_suites.evolution import with_gold_of

    tasks = domain.sample_tasks(split, 4 * len(domain.intents), seed=8)
    for version in later_versions(harness, chain_registry()):
        state = HarnessState.original(version)
        own = [with_gold_of(version, task, domain) for task in tasks]
        episodes = [Episode(state, task, domain) for task in own]
        domain.expert().play(episodes, domain.execute, lambda index: None)
        for task, episode in zip(own, episodes, strict=True):
            scores = domain.score(task, episode.trajectory("expert"), version)
            assert (scores.accuracy, scores.tool_rationality, scores.skill_selection) == (1, 1.0, 1.0), (
                task.question
            )
        assert {task.answerable for task in own if task.operations and task.intent != "missing_link"} == {
            True
        }


def test_the_same_questions_are_asked_of_each_version_and_a_changed_rule_changes_their_gold(harness, domain):
    suite = evolution_suite(harness, domain, SuiteSettings(items=130))
    of = {version: [item.task for item in suite.items if item.kind == version] for version in CHAIN}
    assert all(
        [task.question for task in tasks] == [task.question for task in of["1.2.0"]] for tasks in of.values()
    )
    changed = {
        before.intent
        for before, after in zip(of["1.3.0"], of["2.0.0"], strict=True)
        if before.facts != after.facts
    }
    assert changed == {"returns"}
    assert len(evolution_suite(harness, domain, SuiteSettings()).items) == 5 * 40


def test_the_suite_reports_each_version_and_the_flips_from_one_to_the_next(harness, domain):
    names = ["evolution"]
    expert = run_suites(names, domain.expert(), harness, domain, SuiteSettings(items=13))["suites"][
        "evolution"
    ]
    assert {kind: result["accuracy"] for kind, result in expert["sub_suites"].items()} == dict.fromkeys(
        CHAIN, 1.0
    )
    blind = run_suites(names, domain.twins.blind(harness), harness, domain, SuiteSettings(items=13))
    result = blind["suites"]["evolution"]
    rates = [result["sub_suites"][version]["accuracy"] for version in CHAIN]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == 0.0 < rates[0] < 0.5
    flips = result["verdict_flips"]["1.3.0 to 2.0.0"]
    assert flips["lost"] == round(13 * (rates[1] - rates[2]))
    assert flips["gained"] == 0


def test_a_harness_without_later_versions_is_refused(harness, domain, tmp_path):
    last = Registry(chain_registry()).load("live-shop", "3.0.0")
    with pytest.raises(BadInput, match="no version after"):
        later_versions(last, chain_registry())
    with pytest.raises(BadInput):
        evolution_suite(harness, domain, SuiteSettings(), registry=tmp_path)
