"""Blocking work off the event loop, in threads that never hold up the end of the process."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


class ThreadsExhausted(Exception):
    """As many threads hang already as may."""


class DaemonThreads:
    """Runs at most ``limit`` blocking calls at a time, each in a thread of its own.

    A call that never returns is given up by whoever waits for it, but its thread lives on: the bound keeps a
    tool that hangs from eating the process, and daemon threads let the process end all the same.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.running = 0

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """The result of ``work()``, or what it raises.

        Raises:
            ThreadsExhausted: too many earlier calls have not returned.
        """
        if self.running >= self._limit:
            raise ThreadsExhausted(f"{self.running} earlier calls have not returned")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()
        self.running += 1

        def finish(result: _Result | None, error: BaseException | None) -> None:
            self.running -= 1
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)

        def call() -> None:
            result, problem = None, None
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  handed to whoever waits
                problem = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(finish, result, problem)

        threading.Thread(target=call, name="blocking-work", daemon=True).start()
        return await future
