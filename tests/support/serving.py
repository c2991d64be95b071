"""A service in the test's own event loop, before an engine that does what the test says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from hat.harness.model import Harness
from hat.serving.service.config import ServiceConfig
from hat.serving.service.run import Running, running
from hat.serving.service.source import PairSource, fixed_source
from hat.serving.service.triton import LoadTemplate

REGISTRY = Path(__file__).parents[2] / "harness_registry"
DIGEST = "d" * 64
MODEL = f"live-shop@{DIGEST[:12]}"
SESSION = {"host": "Lily", "ends_at": "22:00", "showing": 7}
QUESTION = {"question": "How much is link 3?", "session": SESSION}


class Client:
    """A client of one service."""

    def __init__(self, session: aiohttp.ClientSession, service: Running) -> None:
        self.session, self.service = session, service

    async def ask(self, **changes: Any) -> tuple[int, dict[str, Any]]:
        return await self.post(json={**QUESTION, **changes})

    async def post(self, **arguments: Any) -> tuple[int, dict[str, Any]]:
        async with self.session.post(f"{self.service.url}/v1/questions", **arguments) as response:
            return response.status, await response.json()

    async def get(self, path: str) -> tuple[int, str]:
        async with self.session.get(f"{self.service.url}{path}") as response:
            return response.status, await response.text()

    async def until_ready(self) -> None:
        while (await self.get("/readyz"))[0] != 200:
            await asyncio.sleep(0.01)

    async def until_not_ready(self, because: str) -> None:
        """Until it says why it is not ready, and that is ``because``: a part of the reason."""
        while True:
            status, text = await self.get("/readyz")
            assert status == 503, text
            if because in text:
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def serving(
    source: PairSource | Harness,
    *engines: str,
    ready: bool = True,
    load_template: LoadTemplate = lambda digest: lambda messages, tools: "",
    **settings: Any,
) -> AsyncIterator[Client]:
    """A service with a client; a harness alone is served as a fixed pair."""
    if isinstance(source, Harness):
        source = fixed_source("laptop", source, DIGEST)
    values = {"port": 0, "poll_seconds": 0.05, "retry_seconds": 0.05, "hardware": "cpu", **settings}
    config = ServiceConfig(engines=engines, **values)
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        running(config, source, load_template) as service,
        aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session,
    ):
        client = Client(session, service)
        if ready:
            async with asyncio.timeout(120):
                await client.until_ready()
        yield client
