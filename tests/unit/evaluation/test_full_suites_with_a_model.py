"""The full suites played by a model: tokens counted, and a worked example in the prompt."""

from pathlib import Path

import pytest

from hat.agent.episode import Episode
from hat.agent.policies.local import LocalPolicy, Rollout
from hat.domains.base import get_domain
from hat.evaluation.full_suites.behaviour import behaviour
from hat.evaluation.full_suites.registry import build_suite
from hat.evaluation.full_suites.run import run_suites
from hat.evaluation.full_suites.settings import SuiteSettings
from hat.evaluation.full_suites.worked_example import WithWorkedExample, worked_example
from hat.harness.registry import Registry
from tests.support.tiny_model import write_tiny_model

HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
FEW = SuiteSettings(items=3)


@pytest.fixture(scope="module")
def policy(base_model: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalPolicy:
    folder = write_tiny_model(tmp_path_factory.mktemp("model") / "tiny", base_model)
    return LocalPolicy(folder, max_new_tokens=5, batch_size=4)


def test_a_models_items_hold_digests_adherence_and_tokens(policy: LocalPolicy) -> None:
    document = run_suites(["combined", "evolution"], policy, HARNESS, DOMAIN, FEW, model_digest="d")
    assert document["model_digest"] == "d"
    assert {name: suite["n"] for name, suite in document["suites"].items()} == {
        "combined": 3,
        "evolution": 15,
    }
    for suite in document["suites"].values():
        for item in suite["items"]:
            assert item["task_digest"]
            assert item["state"]["digest"]
            assert len(item["adhered"]) == item["turns"]
            assert item["reply_tokens"] is None or 0 < item["reply_tokens"] <= 5
            assert item["call_tokens"] == 0  # a random model writes no readable call
        assert suite["adherence_by_turn"][0]["n"] == suite["n"]
        assert suite["tokens_per_tool_call"] is None


def test_tokens_are_those_of_the_turns_with_calls_and_of_the_reply() -> None:
    (item, *_) = build_suite("live_stream_qa", HARNESS, DOMAIN, FEW).items
    (task,) = DOMAIN.sample_tasks("dev", 1, 3, intents=["price"])
    episode = Episode(item.state, task, DOMAIN)
    DOMAIN.expert().play([episode], DOMAIN.execute, lambda index: None)
    played = behaviour(episode.trajectory(), Rollout(turns=[(0, 9), (20, 31), (50, 57)]))
    assert played == {"adhered": [1, 1, 1], "tool_calls": 2, "call_tokens": 20, "reply_tokens": 7}
    without = behaviour(episode.trajectory(), None)
    assert (without["call_tokens"], without["reply_tokens"]) == (None, None)


def test_a_worked_example_is_a_right_episode_of_the_same_state_with_a_training_question() -> None:
    (item, *_) = build_suite("combined", HARNESS, DOMAIN, FEW).items
    messages = worked_example(item.state, item.task.session, DOMAIN)
    assert [message["role"] for message in (messages[0], messages[-1])] == ["user", "assistant"]
    assert messages == worked_example(item.state, item.task.session, DOMAIN)
    called = {c["function"]["name"] for m in messages for c in m.get("tool_calls", [])}
    assert len(called) >= 2
    assert called <= {tool.name for tool in item.state.presented.tools}
    asked = {task.question for task in DOMAIN.sample_tasks("train", 26, 7_000, session=item.task.session)}
    assert messages[0]["content"] in asked


def test_a_model_with_an_example_reads_it_before_the_question(policy: LocalPolicy) -> None:
    shown = WithWorkedExample(policy, DOMAIN)
    (item, *_) = build_suite("names_only", HARNESS, DOMAIN, FEW).items
    episodes = [Episode(item.state, item.task, DOMAIN) for _ in range(2)]
    (rollout, _) = shown.roll_out(episodes[:1] + episodes[1:], DOMAIN.execute, lambda index: None)
    assert all(episode.done for episode in episodes)
    prompt = policy.tokens.tokenizer.decode(rollout.prompt_ids)
    messages = worked_example(item.state, item.task.session, DOMAIN)
    places = [prompt.index(text) for text in (messages[0]["content"], messages[-1]["content"])]
    assert places == sorted(places)
    assert places[-1] < prompt.rindex(item.task.question)
    assert episodes[0].messages()[1]["content"] == item.task.question, "the record holds no example"


def test_a_suite_can_be_played_with_the_example(policy: LocalPolicy) -> None:
    document = run_suites(["live_stream_qa"], WithWorkedExample(policy, DOMAIN), HARNESS, DOMAIN, FEW)
    assert document["model"].endswith("with one worked example")
    assert document["suites"]["live_stream_qa"]["items"][0]["call_tokens"] == 0


def test_the_command_evaluates_a_model_on_full_suites(base_model: Path, tmp_path: Path) -> None:
    from hat.evaluation.command import evaluate_model
    from hat.evaluation.config import EvaluateConfig

    folder = write_tiny_model(tmp_path / "tiny", base_model)
    document = evaluate_model(
        str(folder),
        "live-shop@1.0.0",
        registry=Path(__file__).parents[3] / "harness_registry",
        suites=("names_only", "variant_reference"),
        settings=EvaluateConfig(max_new_tokens=3),
        items=2,
    )
    assert {name: suite["n"] for name, suite in document["suites"].items()} == {
        "names_only": 2,
        "variant_reference": 2,
    }
    assert document["suites"]["names_only"]["verdict_flips"]["n"] == 2
    assert len(document["model_digest"]) == 64
