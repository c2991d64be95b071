"""Runs the service in this process until it is told to stop, and lets it end without losing an answer."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from hat.errors import EnvironmentFailure
from hat.serving.service.answering import Answering
from hat.serving.service.app import build_app
from hat.serving.service.config import ServiceConfig
from hat.serving.service.engine import Engine
from hat.serving.service.follow import PairFollower
from hat.serving.service.metrics import ServiceMetrics
from hat.serving.service.source import PairSource
from hat.serving.service.streams import open_session
from hat.serving.service.triton import LoadTemplate, TritonEngine
from hat.serving.service.vllm import VllmEngine

_LOG = logging.getLogger(__name__)
_LAST_BYTES_SECONDS = 5.0


@dataclass(frozen=True)
class Running:
    """A service that listens."""

    url: str
    answering: Answering
    follower: PairFollower


async def serve(
    config: ServiceConfig,
    source: PairSource,
    load_template: LoadTemplate,
    *,
    on_listening: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain: refuse new questions, answer every accepted one, and return.

    Raises:
        EnvironmentFailure: the address cannot be listened on.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(config, source, load_template) as service:
        on_listening(service.url)
        await stop.wait()
        _LOG.info("draining %d questions", service.answering.admission.accepted)
        await service.answering.admission.drain()


@asynccontextmanager
async def running(
    config: ServiceConfig, source: PairSource, load_template: LoadTemplate
) -> AsyncIterator[Running]:
    """A service in this event loop. Leaving cuts off what was not drained.

    Raises:
        EnvironmentFailure: the address cannot be listened on.
    """
    metrics = ServiceMetrics()
    async with open_session(config.concurrency) as session:
        engines: list[Engine] = [
            VllmEngine(session, url) if config.engine == "vllm" else TritonEngine(session, url, load_template)
            for url in config.engines
        ]
        follower = PairFollower(source, engines, metrics)
        answering = Answering(config, follower, metrics)
        # Work for a client that has gone is stopped, in the engine, too.
        runner = web.AppRunner(
            build_app(config, answering, follower, metrics),
            handler_cancellation=True,
            access_log=None,
            shutdown_timeout=_LAST_BYTES_SECONDS,
        )
        await runner.setup()
        following = asyncio.create_task(follower.follow(config.poll_seconds))
        try:
            await _listen(runner, config)
            host, port = runner.addresses[0][:2]
            yield Running(f"http://{host}:{port}", answering, follower)
        finally:
            following.cancel()
            await runner.cleanup()


async def _listen(runner: web.AppRunner, config: ServiceConfig) -> None:
    try:
        await web.TCPSite(runner, config.host, config.port).start()
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot listen: {error.strerror or error}",
            where=f"{config.host}:{config.port}",
            mend="Give another --port or stop what listens there.",
        ) from error
