import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hat.agent.calls import AssistantTurn, Call, MalformedCall, parse_assistant
from hat.agent.episode import Episode
from hat.agent.policies.chat_wire import UnreadableResponse, read_response
from hat.agent.policies.config import EndpointConfig
from hat.agent.policies.endpoint import EndpointPolicy, check_endpoint, retry_after
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry

DOMAIN = get_domain("live_shop")
HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
PATIENT = {"first_wait_seconds": 0.01, "timeout_seconds": 2.0, "retries": 4}

Answer = tuple[int, dict[str, str], bytes]
Fault = Callable[[int, str], Answer | str | None]
"""(number of the request, question) -> another answer, `hang` or `drop`; None for the right one."""


def episodes(count: int) -> list[Episode]:
    state = HarnessState.original(HARNESS)
    return [Episode(state, task, DOMAIN) for task in DOMAIN.sample_tasks("train", count, 4)]


class ChatServer:
    """Answers chat completions as the scripted expert would."""

    def __init__(self, played: list[Episode], *, native: bool, fault: Fault) -> None:
        self.scripts: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for episode in played:
            system, user, *rest = episode.messages()
            turns = [message for message in rest if message["role"] == "assistant"]
            self.scripts[(system["content"], user["content"])] = turns
        self.native = native
        self.fault = fault
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.open = self.most_open = 0
        self.lock = threading.Lock()

    def answer(self, body: dict[str, Any]) -> Answer | str:
        with self.lock:
            self.requests.append(body)
            number = len(self.requests)
        system, user = (message["content"] for message in body["messages"][:2])
        wrong = self.fault(number, user)
        if wrong is not None:
            return wrong
        said = sum(message["role"] == "assistant" for message in body["messages"])
        turn = dict(self.scripts[(system, user)][said])
        calls = turn.pop("tool_calls", [])
        if self.native:
            turn["tool_calls"] = [
                {
                    **call,
                    "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])},
                }
                for call in calls
            ]
        else:
            turn["content"] += "".join(
                f"<tool_call>{json.dumps(call['function'])}</tool_call>" for call in calls
            )
        return 200, {}, json.dumps({"choices": [{"message": turn}]}).encode()


@contextmanager
def serving(server: ChatServer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet an answer: small ones would wait for each other's acknowledgement

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.headers.append(dict(self.headers))
            with server.lock:
                server.open += 1
                server.most_open = max(server.most_open, server.open)
            answer = server.answer(body)
            time.sleep(0.005)
            with server.lock:
                server.open -= 1
            if answer == "hang":
                time.sleep(1.0)
                answer = (200, {}, b"{}")
            if answer == "drop":
                self.close_connection = True
                self.connection.close()
                return
            self.reply(*answer)

        def do_GET(self) -> None:
            self.reply(200, {}, json.dumps({"data": [{"id": "strong"}]}).encode())

        def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
            try:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()
            except OSError:
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def play(
    count: int, fault: Fault = lambda number, user: None, *, native: bool = True, **settings: Any
) -> tuple[list[Episode], list[int], ChatServer]:
    expected = episodes(count)
    DOMAIN.expert().play(expected, DOMAIN.execute, lambda index: None)
    server, mine, finished = ChatServer(expected, native=native, fault=fault), episodes(count), []
    with serving(server) as url:
        config = EndpointConfig(url=url, model="strong", **{**PATIENT, **settings})
        EndpointPolicy(config).play(mine, DOMAIN.execute, finished.append)
    for one, other in zip(mine, expected, strict=True):
        if one.end != "engine_error":
            assert one.trajectory() == other.trajectory()
    return mine, finished, server


@pytest.mark.parametrize("native", [True, False])
def test_a_served_model_plays_episodes_by_structured_calls_and_by_text(native):
    mine, finished, server = play(12, native=native)
    assert sorted(finished) == list(range(12))
    assert all(episode.end == "replied" for episode in mine)
    body = server.requests[-1]
    assert body["model"] == "strong"
    assert {tool["function"]["name"] for tool in body["tools"]} == {tool.name for tool in HARNESS.tools}
    for message in body["messages"]:
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def test_no_more_episodes_are_open_at_once_than_allowed():
    _, _, server = play(16, concurrency=3)
    assert 2 <= server.most_open <= 3


def test_every_kind_of_passing_failure_is_overcome_and_nothing_is_lost():
    kinds: list[Answer | str] = [
        (429, {"Retry-After": "0"}, b"slow down"),
        (500, {}, b"oops"),
        (503, {}, b""),
        (200, {}, b"<html>a proxy"),
        (200, {}, b'{"choices": []}'),
        "drop",
        "hang",
    ]
    met: Counter[str] = Counter()

    def fault(number: int, user: str) -> Answer | str | None:
        if number % 4 == 0 and number // 4 <= len(kinds):
            kind = kinds[number // 4 - 1]
            met[str(kind)] += 1
            return kind
        return None

    mine, finished, _ = play(12, fault, timeout_seconds=0.4)
    assert len(met) == len(kinds)
    assert sorted(finished) == list(range(12))
    assert all(episode.end == "replied" for episode in mine)


@pytest.mark.parametrize(("asked", "bound", "waited"), [("7", 60, 7), ("7", 3, 3), ("soon", 60, None)])
def test_the_servers_retry_after_is_waited_for_and_bounded(monkeypatch, asked, bound, waited):
    waits: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr("hat.agent.policies.endpoint.asyncio.sleep", note)
    play(
        1,
        lambda number, user: (429, {"Retry-After": asked}, b"") if number <= 2 else None,
        longest_wait_seconds=bound,
    )
    first, second = waits
    if waited is not None:
        assert first == second == waited
    else:
        # By itself it waits twice as long each time, give or take half.
        assert 0.005 <= first <= 0.015
        assert 0.01 <= second <= 0.03


def test_retry_after_may_be_a_date():
    soon = datetime.now(UTC) + timedelta(seconds=100)
    assert 90 < retry_after(format_datetime(soon, usegmt=True)) <= 100
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after("") == 0


def test_an_endpoint_that_keeps_failing_stops_with_its_url_and_keeps_what_is_finished():
    expected = episodes(6)
    DOMAIN.expert().play(expected, DOMAIN.execute, lambda index: None)
    dead_after = sum(len(episode.turns) for episode in expected[:3])
    server = ChatServer(
        expected, native=True, fault=lambda number, user: (502, {}, b"down") if number > dead_after else None
    )
    mine, finished = episodes(6), []
    with serving(server) as url:
        config = EndpointConfig(url=url, model="strong", concurrency=1, **PATIENT)
        with pytest.raises(EnvironmentFailure, match="HTTP 502") as caught:
            EndpointPolicy(config).play(mine, DOMAIN.execute, finished.append)
        assert url in str(caught.value)
    assert finished == [0, 1, 2]
    assert [episode.done for episode in mine] == [True] * 3 + [False] * 3
    assert len(server.requests) == dead_after + PATIENT["retries"] + 1


def test_a_request_that_is_refused_for_itself_fails_one_episode_only():
    refused = episodes(5)[2].messages()[1]["content"]
    mine, finished, _ = play(5, lambda number, user: (400, {}, b"too long") if user == refused else None)
    assert [episode.end for episode in mine].count("engine_error") == 1
    assert mine[2].end == "engine_error"
    assert sorted(finished) == list(range(5))


def test_an_answer_that_stays_unreadable_fails_one_episode_only():
    broken = episodes(5)[1].messages()[1]["content"]
    mine, finished, _ = play(
        5, lambda number, user: (200, {}, b"nonsense") if user == broken else None, retries=1
    )
    assert [episode.end == "engine_error" for episode in mine] == [False, True, False, False, False]
    assert sorted(finished) == list(range(5))


def test_a_wrong_key_stops_at_once_and_the_key_is_sent(monkeypatch):
    monkeypatch.setenv("HAT_ENDPOINT_KEY", "s3cret")
    _, _, server = play(2)
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer s3cret"}
    with pytest.raises(EnvironmentFailure, match="HTTP 401") as caught:
        play(2, lambda number, user: (401, {}, b"no"))
    assert "s3cret" not in str(caught.value)


def test_nobody_listening_is_said_with_the_url():
    config = EndpointConfig(url="http://127.0.0.1:9/v1", model="strong", first_wait_seconds=0.01, retries=1)
    with pytest.raises(EnvironmentFailure, match=r"http://127.0.0.1:9/v1: cannot be reached"):
        EndpointPolicy(config).play(episodes(2), DOMAIN.execute, lambda index: None)
    with pytest.raises(EnvironmentFailure, match=r"http://127.0.0.1:9/v1: cannot be reached"):
        check_endpoint(config)


def test_the_check_before_any_work_knows_the_models():
    with serving(ChatServer([], native=True, fault=lambda number, user: None)) as url:
        check_endpoint(EndpointConfig(url=url, model="strong"))
        with pytest.raises(EnvironmentFailure, match="serves no model 'weak'"):
            check_endpoint(EndpointConfig(url=url, model="weak"))


@pytest.mark.parametrize("missing", ["url", "model"])
def test_an_endpoint_needs_url_and_model(missing):
    settings = {"url": "http://127.0.0.1:9/v1", "model": "strong", missing: ""}
    with pytest.raises(BadInput, match=missing):
        EndpointPolicy(EndpointConfig(**settings))


def completion(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message}]}


def structured(arguments: Any, name: str = "get_price") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def test_structured_arguments_arrive_with_their_types_and_text():
    turn = read_response(
        completion(content=None, tool_calls=[structured('{"link_id": 3, "note": "直播间\\\\n"}')])
    )
    assert turn == AssistantTurn("", (Call("get_price", {"link_id": 3, "note": "直播间\\n"}),))


@pytest.mark.parametrize("arguments", ["{", '"text"', "[1]", '{"a": 1} {"b": 2}', ""])
def test_structured_arguments_that_are_no_object_are_not_repaired(arguments):
    text = read_response(completion(content="", tool_calls=[structured(arguments)]))
    assert isinstance(text, str)
    with pytest.raises(MalformedCall):
        parse_assistant(text)


def test_thinking_is_kept_apart_from_the_reply():
    output = read_response(completion(content="It is 3 yuan.", reasoning_content="hm"))
    assert parse_assistant(output) == AssistantTurn("It is 3 yuan.", thinking="hm")
    turn = read_response(completion(content="<think>so</think>", tool_calls=[structured("{}")]))
    assert turn == AssistantTurn("", (Call("get_price", {}),), thinking="so")


@pytest.mark.parametrize(
    "body", [{}, [], None, {"choices": [{}]}, completion(content=3), completion(tool_calls=[{}])]
)
def test_other_documents_are_not_completions(body):
    with pytest.raises(UnreadableResponse):
        read_response(body)
