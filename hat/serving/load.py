"""Load on an engine: when each question is sent, and what became of it, on one clock.

Latency is counted from the *scheduled* send. In an open loop questions keep arriving while the engine (or this
generator) stalls, and each of them waits: so a stall shows in the percentiles as it does for viewers, and not
in one sample only (the "coordinated omission" of closed-loop generators).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal


class EngineError(Exception):
    """The engine gave no answer to one request; anything else that goes wrong stops the measurement."""


@dataclass(frozen=True)
class Answered:
    """When an engine worked on a question; times on the clock of the event loop, in seconds."""

    started: float
    turns: tuple[float, ...]
    """When the first token of each model turn was there; the last turn's is the first of the reply."""
    finished: float
    output_tokens: int
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else is worth recording of this request."""


@dataclass(frozen=True)
class Request:
    """One question as it went."""

    index: int
    scheduled: float
    status: Literal["ok", "error", "timeout"]
    answered: Answered | None = None
    """None unless the status is ok."""
    problem: str = ""

    @property
    def seconds(self) -> float:
        """From the scheduled send to the complete reply; infinite when no reply came."""
        return float("inf") if self.answered is None else self.answered.finished - self.scheduled


Answer = Callable[[int], Awaitable[Answered]]
"""Answers the question of that index. Raises `EngineError`."""
OnDone = Callable[[int], None]
"""Called with how many questions are done."""


def poisson_offsets(count: int, rate: float, seed: int) -> tuple[float, ...]:
    """Arrival times in seconds, the first at 0, of a Poisson process of ``rate`` arrivals a second."""
    draw = random.Random(f"arrivals/{seed}")
    gaps = (draw.expovariate(rate) for _ in range(count - 1))
    return tuple(accumulate(gaps, initial=0.0))[:count]


async def closed_loop(
    answer: Answer, count: int, *, concurrency: int, timeout: float, on_done: OnDone = lambda done: None
) -> list[Request]:
    """Keep ``concurrency`` questions in flight: each is scheduled when an earlier one is done."""
    requests: list[Request] = []
    waiting = iter(range(count))

    async def ask_in_turn() -> None:
        for index in waiting:
            scheduled = asyncio.get_running_loop().time()
            requests.append(await _ask(answer, index, scheduled, timeout))
            on_done(len(requests))

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(ask_in_turn())
    return sorted(requests, key=lambda request: request.index)


async def open_loop(
    answer: Answer, offsets: Sequence[float], *, timeout: float, on_done: OnDone = lambda done: None
) -> list[Request]:
    """Send a question at each of ``offsets`` (seconds from now, ascending), whatever became of earlier ones."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    requests: list[Request] = []

    async def ask(index: int, scheduled: float) -> None:
        requests.append(await _ask(answer, index, scheduled, timeout))
        on_done(len(requests))

    async with asyncio.TaskGroup() as group:
        for index, offset in enumerate(offsets):
            scheduled = begin + offset
            await asyncio.sleep(max(0.0, scheduled - loop.time()))
            group.create_task(ask(index, scheduled))
    return sorted(requests, key=lambda request: request.index)


async def _ask(answer: Answer, index: int, scheduled: float, timeout: float) -> Request:
    try:
        async with asyncio.timeout_at(scheduled + timeout):
            return Request(index, scheduled, "ok", await answer(index))
    except TimeoutError:
        return Request(index, scheduled, "timeout", problem=f"no reply within {timeout:g} s")
    except EngineError as error:
        return Request(index, scheduled, "error", problem=str(error))
