"""Executes an episode's tool calls for the service: off the event loop, with patience that ends."""

import asyncio
import logging

from hat.agent.episode import Request
from hat.agent.faults import FAULTS
from hat.domains.base import Domain, Task, ToolOutcome
from hat.serving.service.threads import DaemonThreads, ThreadsExhausted

_LOG = logging.getLogger(__name__)
_UNAVAILABLE = "The tool is not available now. Try again or reply without it."


class ToolRunner:
    """Runs operations of a domain. Whatever goes wrong becomes an outcome that the model is told of."""

    def __init__(self, threads: DaemonThreads, seconds: float) -> None:
        self._threads = threads
        self._seconds = seconds

    async def run(self, domain: Domain, task: Task, request: Request) -> ToolOutcome:
        """The outcome of one request, an error with the code ``timeout`` or ``unavailable`` where there is none."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._threads.run(
                    lambda: domain.execute(task, request.operation, request.arguments, request.attempt)
                )
        except TimeoutError:
            return ToolOutcome("error", FAULTS["timeout"], "timeout")
        except ThreadsExhausted as error:
            _LOG.error("%s: %s", request.operation, error)
            return ToolOutcome("error", _UNAVAILABLE, "unavailable")
        except Exception:  # noqa: BLE001  a tool's backend may raise anything, and the viewer still gets an answer
            _LOG.exception("the tool behind %s failed", request.operation)
            return ToolOutcome("error", _UNAVAILABLE, "unavailable")
