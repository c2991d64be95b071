"""Faults of engines and clients that the service survives."""

import asyncio
import json
import random
from collections import Counter
from typing import Any

import pytest

from hat.harness.model import Harness
from tests.support.fake_engine import DECLINE, fake_engine, polite
from tests.support.serving import MODEL, QUESTION, serving


def run(scenario: Any, seconds: float = 60) -> None:
    asyncio.run(asyncio.wait_for(scenario, seconds))


@pytest.mark.parametrize("fault", ["die", "cut", "garbage", "not-events", "500", "503", "429"])
def test_a_turn_that_the_engine_fails_is_asked_for_again(harness: Harness, fault: str) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url) as client:
            engine.faults = [fault, "", fault]  # the first turn's first attempt, and the second turn's
            status, answer = await client.ask()
            assert (status, answer["reply"], answer["engine_faults"]) == (200, DECLINE, 2)

    run(scenario())


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("die", "engine_broken_off"),
        ("cut", "engine_broken_off"),
        ("garbage", "engine_unreadable"),
        ("500", "engine_failed"),
        ("429", "engine_overloaded"),
    ],
)
def test_an_engine_that_keeps_failing_is_an_error_and_the_next_question_is_answered(
    harness: Harness, fault: str, code: str
) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url, attempts=3) as client:
            engine.faults = [fault] * 3
            status, body = await client.ask()
            assert (status, body["error"]["code"]) == (502, code)
            assert (await client.ask())[0] == 200

    run(scenario())


def test_a_request_that_the_engine_refuses_is_not_repeated(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url) as client:
            engine.faults = ["400", "500"]
            status, body = await client.ask()
            assert (status, body["error"]["code"]) == (502, "engine_refused")
            assert engine.faults == ["500"]

    run(scenario())


def test_a_stream_whose_engine_fails_after_a_turn_ends_with_an_error_event(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL) as engine, serving(harness, engine.url) as client:
            engine.faults = ["", "500", "500", "500"]
            body = {**QUESTION, "stream": True}
            async with client.session.post(f"{client.service.url}/v1/questions", json=body) as response:
                events = (await response.text()).strip().split("\n\n")
            assert [event.split("\n")[0] for event in events] == ["event: turn", "event: error"]

    run(scenario())


def test_an_engine_killed_mid_answer_and_started_again_costs_no_answer(harness: Harness) -> None:
    async def scenario() -> None:
        async with fake_engine(MODEL, seconds=0.3) as first:
            port = int(first.url.rsplit(":", 1)[1])
            async with serving(harness, first.url, attempts=8, retry_seconds=0.1) as client:
                asking = [asyncio.create_task(client.ask()) for _ in range(6)]
                while client.service.answering.admission.accepted < 6:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.05)
                await first.stop()
                await asyncio.sleep(0.3)
                assert (await client.get("/readyz"))[0] == 503
                async with fake_engine(MODEL, port=port):
                    answers = await asyncio.gather(*asking)
                    assert [status for status, _ in answers] == [200] * 6
                    assert all(answer["engine_faults"] > 0 for _, answer in answers)
                    await client.until_ready()

    run(scenario())


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (
            '<tool_call>{"name": "a", "arguments": {}}{"name": "b", "arguments": {}}</tool_call>',
            "retries_exhausted",
        ),
        ('<tool_call>{"name": "a", "arguments": </tool_call>', "retries_exhausted"),
        ('<tool_call>{"name": "a", "arguments": {}}', "retries_exhausted"),
        ("", "empty_reply"),
    ],
    ids=["two calls in a tag", "malformed JSON", "unclosed tag", "empty"],
)
def test_a_model_that_writes_nonsense_ends_the_episode_without_a_reply(
    harness: Harness, text: str, end: str
) -> None:
    async def scenario() -> None:
        async with (
            fake_engine(MODEL, turn=lambda messages: text) as engine,
            serving(harness, engine.url) as client,
        ):
            status, answer = await client.ask()
            assert (status, answer["reply"], answer["end"]) == (200, None, end)

    run(scenario())


def test_a_malformed_call_is_told_to_the_model_which_may_mend_it(harness: Harness) -> None:
    def mends(messages: Any) -> str:
        assert messages[0]["role"] == "system"
        told = any("not readable" in str(message["content"]) for message in messages[2:])
        return polite(messages) if told else "<tool_call>{'name': 'a'}</tool_call>"

    async def scenario() -> None:
        async with fake_engine(MODEL, turn=mends) as engine, serving(harness, engine.url) as client:
            assert (await client.ask())[1]["reply"] == DECLINE

    run(scenario())


@pytest.mark.timeout(1800)
def test_ten_thousand_requests_with_malformed_ones_among_them_are_all_answered(harness: Harness) -> None:
    count, share = 10_000, 0.01
    draw = random.Random(7)
    good = json.dumps(QUESTION).encode()

    def body() -> tuple[bytes, bool]:
        if draw.random() >= share:
            return good, True
        return draw.choice([good[:-1], b"", b"\xff", b"[" * 5000, b"null", b'{"question": 1}']), False

    bodies = [body() for _ in range(count)]

    async def scenario() -> None:
        async with (
            fake_engine(MODEL) as engine,
            serving(harness, engine.url, concurrency=32, queue=64) as client,
        ):
            waiting = iter(bodies)
            found: Counter[tuple[bool, int]] = Counter()

            async def ask_in_turn() -> None:
                for data, well_formed in waiting:
                    status, _ = await client.post(data=data)
                    found[(well_formed, status)] += 1

            await asyncio.gather(*(ask_in_turn() for _ in range(64)))
            malformed = sum(not well_formed for _, well_formed in bodies)
            assert 50 < malformed < 200
            assert found == {(True, 200): count - malformed, (False, 400): malformed}
            assert client.service.answering.admission.accepted == 0
            _, metrics = await client.get("/metrics")
            assert f'hat_questions_total{{end="replied"}} {float(count - malformed)}' in metrics

    run(scenario(), 1700)
