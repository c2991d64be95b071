"""What clients of the service get."""

import asyncio
import json
from typing import Any

from hat.domains.base import Task, ToolOutcome
from hat.domains.live_shop.domain import LiveShop
from hat.harness.model import Harness
from tests.support.fake_engine import DECLINE, fake_engine
from tests.support.serving import DIGEST, MODEL, QUESTION, serving


def run(scenario: Any) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def test_a_question_is_answered_by_the_episode_with_the_pair_named(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url) as client:
            status, answer = await client.ask()
            assert status == 200
            assert (answer["reply"], answer["end"], answer["turns"]) == (DECLINE, "replied", 2)
            assert answer["pair"]["harness_digest"] == harness.digest
            assert answer["pair"]["model_digest"] == DIGEST
            assert 0 <= answer["turn_first_tokens"][0] <= answer["turn_first_tokens"][1] <= answer["seconds"]
            assert answer["output_tokens"] == 14

    run(scenario())


def test_a_reply_that_a_hook_blocks_is_never_sent_not_even_streamed(harness: Harness) -> None:
    def claims_a_price(messages: list[dict[str, Any]]) -> str:
        return "It costs 12345 yuan."

    async def scenario() -> None:
        async with fake_engine(MODEL, turn=claims_a_price) as engine, serving(harness, engine.url) as client:
            status, answer = await client.ask()
            assert (status, answer["reply"], answer["end"]) == (200, None, "retries_exhausted")
            async with client.session.post(
                f"{client.service.url}/v1/questions", json={**QUESTION, "stream": True}
            ) as response:
                assert "12345" not in await response.text()

    run(scenario())


def test_a_stream_tells_each_turn_and_ends_with_the_answer(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url) as client:
            headers = {"Accept": "text/event-stream"}
            async with client.session.post(
                f"{client.service.url}/v1/questions", json=QUESTION, headers=headers
            ) as response:
                assert response.content_type == "text/event-stream"
                text = await response.text()
        events = [block.split("\n") for block in text.strip().split("\n\n")]
        assert [lines[0] for lines in events] == ["event: turn", "event: turn", "event: answer"]
        first, _, last = (json.loads(lines[1].removeprefix("data: ")) for lines in events)
        assert first["calls"] == [{"tool": "load_skill", "outcome": "skill"}]
        assert last["reply"] == DECLINE

    run(scenario())


def test_what_is_wrong_with_a_request_is_said_in_json(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url) as client:
            bad: list[tuple[int, str, dict[str, Any]]] = [
                (400, "bad_request", {"data": b"{"}),
                (400, "bad_request", {"data": b"\xff\xfe"}),
                (400, "bad_request", {"json": []}),
                (400, "bad_request", {"json": {**QUESTION, "question": ""}}),
                (400, "bad_request", {"json": {**QUESTION, "question": "x" * 2001}}),
                (400, "bad_request", {"json": {**QUESTION, "unknown": 1}}),
                (400, "bad_request", {"json": {**QUESTION, "deadline_ms": 0}}),
                (400, "bad_session", {"json": {"question": "Hi", "session": {}}}),
                (413, "too_large", {"data": b"x" * 70000}),
            ]
            for status, code, request in bad:
                found, body = await client.post(**request)
                assert (found, body["error"]["code"]) == (status, code), request
            status, text = await client.get("/v1/nothing")
            assert status == 404
            assert "error" in json.loads(text)
            status, _ = await client.ask()
            assert status == 200

    run(scenario())


def test_questions_beyond_the_queue_are_refused_and_the_others_answered(harness: Harness) -> None:
    async def scenario() -> None:
        async with (
            fake_engine(MODEL, seconds=0.2) as engine,
            serving(harness, engine.url, concurrency=2, queue=3) as client,
        ):
            answers = await asyncio.gather(*(client.ask() for _ in range(20)))
            statuses = [status for status, _ in answers]
            assert statuses.count(200) == 5
            assert statuses.count(429) == 15
            _, metrics = await client.get("/metrics")
            assert 'hat_refused_total{reason="queue_full"} 15.0' in metrics

    run(scenario())


def test_a_deadline_ends_the_question_and_the_engines_work_on_it(harness: Harness) -> None:
    async def scenario() -> None:
        async with (
            fake_engine(MODEL) as engine,
            serving(harness, engine.url, deadline_seconds=0.2) as client,
        ):
            engine.seconds = 30
            assert (await client.ask())[0] == 504
            assert (await client.ask(deadline_ms=50))[0] == 504
            async with asyncio.timeout(5):
                while engine.cancelled < 2:
                    await asyncio.sleep(0.01)

    run(scenario())


def test_time_in_the_queue_counts_towards_the_deadline(harness: Harness) -> None:
    async def scenario() -> None:
        async with (
            fake_engine(MODEL) as engine,
            serving(harness, engine.url, concurrency=1, longest_deadline_seconds=0.3) as client,
        ):
            engine.seconds = 30
            answers = await asyncio.gather(client.ask(), client.ask(deadline_ms=10**9))
            assert [status for status, _ in answers] == [504, 504]

    run(scenario())


def test_a_client_that_leaves_frees_the_engine(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url) as client:
            engine.seconds = 30
            asking = asyncio.create_task(client.ask())
            while client.service.answering.admission.accepted == 0:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            asking.cancel()
            async with asyncio.timeout(5):
                while engine.cancelled == 0 or client.service.answering.admission.accepted:
                    await asyncio.sleep(0.01)
            assert engine.cancelled == 1

    run(scenario())


def test_metrics_count_questions_tools_hooks_skills_and_latency(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL, faults=["500"]) as engine, serving(harness, engine.url) as client:
            engine.faults = ["500"]
            await client.ask()
            _, metrics = await client.get("/metrics")
        for line in (
            'hat_questions_total{end="replied"} 1.0',
            'hat_tool_calls_total{outcome="skill",tool="load_skill"} 1.0',
            'hat_skill_loads_total{skill="polite-decline"} 1.0',
            'hat_engine_faults_total{code="failed"} 1.0',
            "hat_question_seconds_count 1.0",
            "hat_first_token_seconds_count 1.0",
            "hat_ready 1.0",
        ):
            assert line in metrics.splitlines(), line

    run(scenario())


def test_a_tool_that_hangs_is_told_to_the_model_and_does_not_hold_the_answer(
    harness: Harness, monkeypatch: Any
) -> None:
    import threading

    hang = threading.Event()

    def execute(self: LiveShop, task: Task, *rest: Any) -> ToolOutcome:
        hang.wait(60)
        return ToolOutcome("ok", {})

    monkeypatch.setattr(LiveShop, "execute", execute)
    seen: list[str] = []

    def asks_the_tool(messages: list[dict[str, Any]]) -> str:
        tools = [message["content"] for message in messages if message["role"] == "tool"]
        seen.extend(tools[1:])
        if not tools:
            return '<tool_call>{"name": "load_skill", "arguments": {"name": "polite-decline"}}</tool_call>'
        if len(tools) == 1:
            return '<tool_call>{"name": "check_stock", "arguments": {"link_id": 3}}</tool_call>'
        return DECLINE

    async def scenario() -> None:
        async with (
            fake_engine(MODEL, turn=asks_the_tool) as engine,
            serving(harness, engine.url, tool_seconds=0.1) as client,
        ):
            status, answer = await client.ask()
            assert (status, answer["reply"]) == (200, DECLINE)
        assert '"error": "timeout"' in seen[0]

    try:
        run(scenario())
    finally:
        hang.set()


def test_a_tool_that_raises_is_an_error_that_the_model_is_told_of(harness: Harness, monkeypatch: Any) -> None:
    def execute(self: LiveShop, task: Task, *rest: Any) -> ToolOutcome:
        raise RuntimeError("no route")

    monkeypatch.setattr(LiveShop, "execute", execute)

    def asks_the_tool(messages: list[dict[str, Any]]) -> str:
        tools = [message["content"] for message in messages if message["role"] == "tool"]
        if len(tools) < 2:
            return (
                '<tool_call>{"name": "load_skill", "arguments": {"name": "polite-decline"}}</tool_call>'
                '<tool_call>{"name": "check_stock", "arguments": {"link_id": 3}}</tool_call>'
            )
        return DECLINE if "unavailable" in tools[1] else "no"

    async def scenario() -> None:
        async with fake_engine(MODEL, turn=asks_the_tool) as engine, serving(harness, engine.url) as client:
            assert (await client.ask())[1]["reply"] == DECLINE

    run(scenario())
