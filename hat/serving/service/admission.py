"""Which questions are accepted: so many at once, so many waiting, none while the service drains."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class QueueFull(Exception):
    """As many questions wait already as may."""


class Draining(Exception):
    """The service is shutting down; what it accepted before is still answered."""


class Admission:
    """Counts questions in and out. An accepted question keeps its place until it is answered."""

    def __init__(self, concurrency: int, queue: int) -> None:
        self.accepted = 0
        """Questions waiting or worked on."""
        self.draining = False
        self._limit = concurrency + queue
        self._slots = asyncio.Semaphore(concurrency)
        self._concurrency = concurrency
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        """Questions that wait for their turn."""
        return max(0, self.accepted - self._concurrency)

    @asynccontextmanager
    async def accepted_question(self) -> AsyncIterator[asyncio.Semaphore]:
        """Hold a place in the queue; inside, acquire the semaphore to be worked on.

        Raises:
            QueueFull, Draining: the question is not accepted.
        """
        if self.draining:
            raise Draining
        if self.accepted >= self._limit:
            raise QueueFull
        self.accepted += 1
        self._idle.clear()
        try:
            yield self._slots
        finally:
            self.accepted -= 1
            if self.accepted == 0:
                self._idle.set()

    async def drain(self) -> None:
        """Accept nothing more, and return when all that was accepted is answered."""
        self.draining = True
        await self._idle.wait()
