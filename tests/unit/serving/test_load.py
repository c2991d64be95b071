"""Load on an engine, on a clock that only moves when everybody waits: exact, and no test takes real time."""

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.evaluation.statistics import percentile
from hat.serving.load import (
    Answered,
    EngineError,
    Request,
    closed_loop,
    open_loop,
    poisson_offsets,
)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer instead of passing."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        select = self._selector.select

        def jump(timeout: float | None = None) -> list[Any]:
            ready = select(0)
            if not ready and timeout:
                self.now += timeout
            return ready

        self._selector.select = jump  # type: ignore[method-assign]

    def time(self) -> float:
        return self.now


def run(coroutine: Coroutine[Any, Any, list[Request]]) -> list[Request]:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)


class Server:
    """Answers one question at a time, each in ``service`` seconds; one of them takes ``stall`` longer."""

    def __init__(self, service: float, stall_at: int = -1, stall: float = 0.0) -> None:
        self.service, self.stall_at, self.stall = service, stall_at, stall
        self.free = asyncio.Lock()

    async def answer(self, index: int) -> Answered:
        loop = asyncio.get_running_loop()
        async with self.free:
            started = loop.time()
            await asyncio.sleep(self.service + (self.stall if index == self.stall_at else 0.0))
            return Answered(started, (loop.time(),), loop.time(), output_tokens=1)


def seconds(requests: list[Request]) -> list[float]:
    return [request.seconds for request in requests]


def test_a_stall_of_one_and_a_half_seconds_at_ten_a_second_shows_in_p95() -> None:
    calm = run(open_loop(Server(0.02).answer, poisson_offsets(200, 10.0, seed=1), timeout=60))
    stalled = run(
        open_loop(
            Server(0.02, stall_at=100, stall=1.5).answer, poisson_offsets(200, 10.0, seed=1), timeout=60
        )
    )
    assert percentile(seconds(calm), 0.95) < 0.1
    assert percentile(seconds(stalled), 0.95) > 0.5
    assert sum(value > 0.1 for value in seconds(stalled)) >= 10
    # Seen from when the server took each question up, the same stall is one sample of two hundred.
    service = [
        request.answered.finished - request.answered.started for request in stalled if request.answered
    ]
    assert sum(value > 0.1 for value in service) == 1


def test_a_closed_loop_hides_the_same_stall_in_one_sample() -> None:
    requests = run(closed_loop(Server(0.02, stall_at=100, stall=1.5).answer, 200, concurrency=1, timeout=60))
    assert sum(value > 0.1 for value in seconds(requests)) == 1
    assert percentile(seconds(requests), 0.95) < 0.1


def test_a_generator_that_cannot_send_in_time_is_no_excuse() -> None:
    """An answer that blocks the whole event loop keeps later questions from being sent: their wait counts."""

    async def answer(index: int) -> Answered:
        loop = asyncio.get_running_loop()
        if index == 5:
            loop.now += 1.5  # type: ignore[attr-defined]
        return Answered(loop.time(), (loop.time(),), loop.time(), output_tokens=1)

    requests = run(open_loop(answer, [0.1 * index for index in range(30)], timeout=60))
    assert sum(value > 0.1 for value in seconds(requests)) == 14
    assert seconds(requests)[6] == pytest.approx(1.4)


def test_open_loop_sends_on_schedule_whatever_is_in_flight() -> None:
    sent: list[tuple[int, float]] = []

    async def answer(index: int) -> Answered:
        loop = asyncio.get_running_loop()
        sent.append((index, loop.time()))
        await asyncio.sleep(10)
        return Answered(loop.time(), (loop.time(),), loop.time(), output_tokens=1)

    requests = run(open_loop(answer, [0.0, 0.5, 0.5, 2.0], timeout=60))
    assert sent == [(0, 0.0), (1, 0.5), (2, 0.5), (3, 2.0)]
    assert [request.scheduled for request in requests] == [0.0, 0.5, 0.5, 2.0]


def test_closed_loop_keeps_the_asked_number_in_flight() -> None:
    in_flight, most, done = 0, 0, []

    async def answer(index: int) -> Answered:
        nonlocal in_flight, most
        loop = asyncio.get_running_loop()
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(1 + index % 3)
        in_flight -= 1
        return Answered(loop.time(), (loop.time(),), loop.time(), output_tokens=1)

    requests = run(closed_loop(answer, 11, concurrency=3, timeout=60, on_done=done.append))
    assert most == 3
    assert [request.index for request in requests] == list(range(11))
    assert done == list(range(1, 12))


def test_a_late_reply_is_a_timeout_and_a_broken_engine_an_error() -> None:
    async def answer(index: int) -> Answered:
        loop = asyncio.get_running_loop()
        if index == 1:
            raise EngineError("HTTP 500")
        await asyncio.sleep(5.0 if index == 2 else 0.1)
        return Answered(loop.time(), (loop.time(),), loop.time(), output_tokens=1)

    requests = run(open_loop(answer, [0.0, 0.1, 0.2, 0.3], timeout=1.0))
    assert [request.status for request in requests] == ["ok", "error", "timeout", "ok"]
    assert requests[1].problem == "HTTP 500"
    assert seconds(requests)[1:3] == [float("inf")] * 2


def test_the_deadline_counts_from_the_schedule() -> None:
    requests = run(open_loop(Server(1.0).answer, [0.0] * 5, timeout=3.5))
    assert [request.status for request in requests] == ["ok"] * 3 + ["timeout"] * 2


def test_a_fault_of_our_own_stops_the_measurement() -> None:
    async def answer(index: int) -> Answered:
        raise ValueError("a bug")

    with pytest.raises(ExceptionGroup) as caught:
        run(open_loop(answer, [0.0], timeout=1.0))
    assert caught.group_contains(ValueError, match="a bug")


@given(count=st.integers(0, 200), rate=st.floats(0.01, 100), seed=st.integers(0, 5))
def test_arrivals_are_ascending_and_the_same_for_a_seed(count: int, rate: float, seed: int) -> None:
    offsets = poisson_offsets(count, rate, seed)
    assert len(offsets) == count
    assert list(offsets) == sorted(offsets)
    assert offsets == poisson_offsets(count, rate, seed)
    assert count < 3 or offsets != poisson_offsets(count, rate, seed + 1)


def test_arrivals_have_the_asked_rate_and_the_spread_of_a_poisson_process() -> None:
    offsets = poisson_offsets(20_001, 10.0, seed=3)
    gaps = [later - earlier for earlier, later in itertools.pairwise(offsets)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert mean == pytest.approx(0.1, rel=0.03)
    assert variance**0.5 == pytest.approx(mean, rel=0.05)
