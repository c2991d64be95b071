"""Ten minutes of load on a real `hat serve` process: it answers everything and does not grow."""

import asyncio
import os
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from hat.serving.engines import model_name
from hat.storage import open_store
from tests.support.fake_engine import fake_engine
from tests.support.promotions import put_into_production
from tests.support.serve_process import serve_process
from tests.support.serving import QUESTION

SECONDS = float(os.environ.get("HAT_SOAK_SECONDS", "600"))
MODEL = "a" * 64
GROWTH = 16 << 20
"""Bytes that the second half may add: allocators keep a little, a leak of a kilobyte a question is far more."""


@pytest.mark.soak
@pytest.mark.timeout(SECONDS + 600)
def test_minutes_of_load_do_not_grow_the_service(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = str(tmp_path / "store")
        put_into_production(open_store(store), "1.0.0", MODEL, 0)
        async with (
            fake_engine(model_name("live-shop", MODEL)) as engine,
            serve_process(store, f"--engine={engine.url}", "--set", "poll_seconds=0.2") as service,
            aiohttp.ClientSession() as session,
        ):
            loop = asyncio.get_running_loop()
            begin = loop.time()
            found: Counter[int] = Counter()

            async def keep_asking(number: int) -> None:
                while loop.time() < begin + SECONDS:
                    body = {**QUESTION, "stream": number % 2 == 0}
                    async with session.post(f"{service.url}/v1/questions", json=body) as response:
                        await response.read()
                        found[response.status] += 1

            asking = [asyncio.create_task(keep_asking(number)) for number in range(8)]
            await asyncio.sleep(SECONDS / 2)
            half = service.memory_bytes()
            await asyncio.gather(*asking)
            end = service.memory_bytes()
            print(
                f"{sum(found.values())} questions, {half / 1e6:.1f} MB at half, {end / 1e6:.1f} MB at the end"
            )
            assert set(found) == {200}
            assert end - half < GROWTH

    asyncio.run(scenario())
