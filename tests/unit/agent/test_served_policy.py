"""Rollouts on a server, in token ids: what is asked, what is kept, and answers that cannot be trained on."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from hat.agent.episode import Episode
from hat.agent.policies.served import ServedPolicy
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import EnvironmentFailure
from hat.harness.registry import Registry
from tests.support.fake_engine import DECLINE, LOAD_DECLINE

REGISTRY = Path(__file__).parents[3] / "harness_registry"
DOMAIN = get_domain("live_shop")


@contextmanager
def completions(answer: Callable[[int], tuple[int, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server whose n-th answer is ``answer(n)``: status and document. Yields its address and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, document = answer(len(asked) - 1)
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}", asked
    finally:
        http.shutdown()
        http.server_close()


@pytest.fixture(scope="module")
def tokenizer(base_model: Path) -> Any:
    return AutoTokenizer.from_pretrained(base_model, local_files_only=True)


def policy_at(url: str, tokenizer: Any) -> ServedPolicy:
    return ServedPolicy(
        url,
        "live-shop@aa",
        tokenizer,
        max_new_tokens=64,
        concurrency=1,
        temperature=0.7,
        seed=3,
        answer_seconds=60,
        name="rl:0",
    )


def an_episode() -> Episode:
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    return Episode(HarnessState.original(harness), DOMAIN.sample_tasks("dev", 1, seed=5)[0], DOMAIN)


def choice(ids: list[int], **changes: Any) -> dict[str, Any]:
    logprobs = {"token_logprobs": [-0.5] * len(ids)}
    return {"choices": [{"token_ids": ids, "logprobs": logprobs, "finish_reason": "stop"} | changes]}


def test_each_turn_continues_the_ids_of_the_one_before_and_nothing_is_tokenised_again(tokenizer: Any) -> None:
    turns = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in (LOAD_DECLINE, DECLINE)]
    episode = an_episode()
    with completions(lambda number: (200, choice(turns[number]))) as (url, asked):
        (rollout,) = policy_at(url, tokenizer).roll_out([episode], DOMAIN.execute)
    assert (episode.end, episode.reply) == ("replied", DECLINE)
    first, second = (body["prompt"] for body in asked)
    assert list(rollout.prompt_ids) == first
    # The second prompt is the first, the sampled turn as it was sampled, and what the template appends.
    assert second[: len(first) + len(turns[0])] == first + turns[0]
    assert second == first + rollout.completion_ids[: len(second) - len(first)]
    assert [rollout.completion_ids[begin:end] for begin, end in rollout.turns] == turns
    assert len(rollout.completion_ids) == len(rollout.sampled) == len(rollout.log_probs)
    appended = [
        value for value, sampled in zip(rollout.log_probs, rollout.sampled, strict=True) if not sampled
    ]
    assert set(appended) == {0.0}


def test_the_whole_distribution_is_sampled_whatever_the_models_own_settings_say(tokenizer: Any) -> None:
    ids = [*tokenizer(DECLINE)["input_ids"], tokenizer.eos_token_id]
    episode = an_episode()
    with completions(lambda number: (200, choice(ids))) as (url, asked):
        policy_at(url, tokenizer).roll_out([episode], DOMAIN.execute)
    sampling = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "stop_token_ids")
    assert [asked[0][name] for name in sampling] == [0.7, 1.0, -1, 0.0, 1.0, [tokenizer.eos_token_id]]
    assert len({body["seed"] for body in asked}) == len(asked) > 1  # each turn is a draw of its own


@pytest.mark.parametrize(
    ("status", "document", "message"),
    [
        (200, {"choices": [{"text": "hello", "finish_reason": "stop"}]}, "without token ids"),
        (200, choice([5], logprobs=None), "without token ids or log-probabilities"),
        (200, choice([5, 6], logprobs={"token_logprobs": [-1.0]}), "2 tokens with 1 log-probabilities"),
        (200, choice([5], logprobs={"token_logprobs": [float("nan")]}), "no numbers"),
        (200, choice([5]), "without its stop token"),
        (400, {"error": "too long"}, "HTTP 400"),
    ],
)
def test_an_answer_that_cannot_be_trained_on_stops_the_run(
    tokenizer: Any, status: int, document: Any, message: str
) -> None:
    episode = an_episode()
    with (
        completions(lambda number: (status, document)) as (url, asked),
        pytest.raises(EnvironmentFailure, match=message),
    ):
        policy_at(url, tokenizer).roll_out([episode], DOMAIN.execute)
    assert len(asked) == 1


def test_a_server_that_is_busy_is_asked_again(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hat.agent.policies.served._WAIT_SECONDS", 0.0)
    ids = [*tokenizer(DECLINE)["input_ids"], tokenizer.eos_token_id]
    episode = an_episode()
    with completions(lambda number: (503, {}) if number == 0 else (200, choice(ids))) as (url, asked):
        policy_at(url, tokenizer).roll_out([episode], DOMAIN.execute)
    assert asked[0] == asked[1]
