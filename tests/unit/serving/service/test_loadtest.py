"""`hat loadtest` against a running service: evidence that the gate reads, and no stall hidden."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from hat.errors import BadInput, EnvironmentFailure
from hat.harness.model import Harness
from hat.promotion.documents import LatencyDocument
from hat.serving import loadtest
from hat.serving.config import LatencyConfig
from hat.serving.loadtest import load_test
from hat.serving.service.config import ServiceConfig
from pipelines.cli.main import app
from tests.support.fake_engine import FakeEngine, fake_engine
from tests.support.serving import DIGEST, MODEL, REGISTRY, serving

POLICY = """
schema_version: 1
environments:
  laptop:
    description: For this test.
    engines: [vllm]
    hardware: [cpu]
    absolute: [{suite: live_stream_qa, metric: accuracy, at_least: 0, minimum_n: 1}]
    latency:
      arrival: poisson
      rate: 40
      warmup_requests: 2
      limits: [{percentile: 90, milliseconds: 5000, confidence: 0.95}]
"""


@contextmanager
def in_thread(harness: Harness, **settings: Any) -> Iterator[tuple[str, FakeEngine]]:
    """A service in another thread, as the load test has an event loop of its own."""
    told: list[tuple[str, FakeEngine]] = []
    up, stop = threading.Event(), threading.Event()

    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url, **settings) as client:
            told.append((client.service.url, engine))
            up.set()
            while not stop.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(scenario()), daemon=True)
    thread.start()
    assert up.wait(30)
    try:
        yield told[0]
    finally:
        stop.set()
        thread.join(30)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "gate.yaml"
    path.write_text(POLICY)
    return path


def test_the_evidence_names_pair_engine_and_load_and_holds_every_request(
    harness: Harness, policy: Path, tmp_path: Path
) -> None:
    out = tmp_path / "evidence" / "latency.json"
    with in_thread(harness, concurrency=4) as (url, _):
        document = load_test(url, policy, registry=REGISTRY, config=LatencyConfig(), out=out)
    assert json.loads(out.read_text()) == document
    read = LatencyDocument.model_validate(document)
    assert (read.engine, read.hardware, read.arrival, read.rate) == ("vllm", "cpu", "poisson", 40)
    assert (document["model_digest"], document["harness_digest"]) == (DIGEST, harness.digest)
    assert document["shared_device"] is True
    assert document["concurrency"] == 4
    assert len(read.requests) == 29 + 2  # none of 29 over proves a P90 at 95%
    for request in document["requests"]:
        assert request["status"] == "ok"
        assert request["scheduled"] <= request["first_token"] <= request["finished"]
    scheduled = [request["scheduled"] for request in document["requests"]]
    assert scheduled == sorted(scheduled)
    assert scheduled[0] == 0


def test_the_same_seed_asks_the_same_questions_at_the_same_times(harness: Harness, policy: Path) -> None:
    with in_thread(harness) as (url, _):
        once, again, other = (
            load_test(url, policy, registry=REGISTRY, config=LatencyConfig(seed=seed)) for seed in (1, 1, 2)
        )

    def planned(document: dict[str, Any]) -> list[tuple[str, float]]:
        return [(request["id"], round(request["scheduled"], 3)) for request in document["requests"]]

    assert planned(once) == planned(again) != planned(other)


def test_a_stall_counts_for_all_that_were_scheduled_meanwhile(harness: Harness, policy: Path) -> None:
    with in_thread(harness, concurrency=1, queue=100) as (url, engine):
        stalled = threading.Timer(0.3, lambda: setattr(engine, "seconds", 0.5))
        recovered = threading.Timer(1.3, lambda: setattr(engine, "seconds", 0.0))
        stalled.start()
        recovered.start()
        document = load_test(url, policy, registry=REGISTRY, config=LatencyConfig())
    waits = [request["finished"] - request["scheduled"] for request in document["requests"]]
    assert sum(wait > 0.4 for wait in waits) > 5


def test_questions_that_the_service_refuses_are_errors_in_the_evidence(
    harness: Harness, policy: Path
) -> None:
    with in_thread(harness, concurrency=1, queue=0) as (url, engine):
        engine.seconds = 0.2
        document = load_test(url, policy, registry=REGISTRY, config=LatencyConfig())
    problems = {request.get("problem") for request in document["requests"] if request["status"] == "error"}
    assert problems == {"HTTP 429: queue_full"}


def test_a_load_test_without_any_answer_is_evidence_and_a_failure_of_the_environment(
    harness: Harness, policy: Path, tmp_path: Path
) -> None:
    with in_thread(harness) as (url, engine):
        engine.faults = ["500"] * 1000
        arguments = ["loadtest", url, "--policy", str(policy), "--registry", str(REGISTRY)]
        said = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert isinstance(said.exception, EnvironmentFailure)
    assert "no question was answered; the first: HTTP 50" in str(said.exception)
    assert "29 questions after warm-up, 29 without an answer" in said.stdout
    assert len(json.loads((tmp_path / "latency.json").read_text())["requests"]) == 31


@pytest.mark.parametrize(
    "malformed",
    [
        {},
        {"environment": "laptop"},
        [],
        "text",
        dict.fromkeys(loadtest._PAIR_FIELDS, "x") | {"concurrency": "many"},
    ],
)
def test_what_does_not_say_which_pair_it_serves_is_no_agent_service(malformed: Any, policy: Path) -> None:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(malformed).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(EnvironmentFailure, match="no agent service answers"):
            load_test(address, policy, registry=REGISTRY, config=LatencyConfig())
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("first_tokens", [[], [float("nan")], [float("inf")], ["soon"], [None]])
def test_times_that_cannot_be_times_are_no_answer(first_tokens: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        loadtest._turns(0.0, first_tokens)
    assert loadtest._turns(1.0, [0.5, 2]) == (1.5, 3.0)


def test_what_cannot_be_measured_is_said(harness: Harness, policy: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="no agent service answers"):
        load_test("http://127.0.0.1:9", policy, registry=REGISTRY, config=LatencyConfig())
    with in_thread(harness) as (url, _):
        with pytest.raises(BadInput, match="no policy for environment"):
            load_test(url, policy, environment="h20", registry=REGISTRY, config=LatencyConfig())
        with pytest.raises(BadInput, match="no more than the 2 of the warm-up"):
            load_test(url, policy, registry=REGISTRY, config=LatencyConfig(requests=2))


def test_times_of_an_earlier_load_test_are_not_replaced(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    earlier = tmp_path / "evidence" / "latency.json"
    earlier.write_text("{}")
    arguments = ["loadtest", "http://127.0.0.1:9", "--policy", str(policy), "--out", str(earlier.parent)]
    refused = CliRunner().invoke(app, arguments)
    assert isinstance(refused.exception, BadInput)
    assert "earlier load test" in str(refused.exception)
    assert earlier.read_text() == "{}"


@pytest.mark.parametrize(
    "url",
    [
        "service",
        "localhost:8080",
        "ftp://service/x",
        "http://",
        "http://x:abc",
        "http://x:99999",
        "http://[::1",
        "",
    ],
)
def test_what_is_not_an_http_address_is_bad_input_before_anything_is_sent(url: str, policy: Path) -> None:
    with pytest.raises(BadInput, match="not the address of a service"):
        load_test(url, policy, registry=REGISTRY, config=LatencyConfig())
    with pytest.raises(ValidationError, match="engines"):
        ServiceConfig(engines=(url,))
