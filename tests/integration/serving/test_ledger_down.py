"""The ledger's real S3 server is down for half a minute while questions are asked."""

import asyncio
from pathlib import Path

import pytest

from hat.serving.engines import model_name
from hat.serving.service.source import ledger_source
from hat.storage import open_store
from tests.support.fake_engine import fake_engine
from tests.support.promotions import put_into_production
from tests.support.seaweedfs import Server, address
from tests.support.serving import serving

DOWN_SECONDS = 30
MODEL = "a" * 64


@pytest.mark.timeout(900)
def test_half_a_minute_without_the_store_costs_no_answer_and_then_it_is_followed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    server = Server(tmp_path)
    server.start()

    async def scenario() -> None:
        store = open_store(address(server, "bucket/production"))
        put_into_production(store, "1.0.0", MODEL, 0)
        source = ledger_source(store, "laptop", "live-shop")
        async with (
            fake_engine(model_name("live-shop", MODEL)) as engine,
            serving(source, engine.url, ready=False, poll_seconds=1) as client,
        ):
            async with asyncio.timeout(120):
                await client.until_ready()
            server.kill()
            loop = asyncio.get_running_loop()
            back = loop.time() + DOWN_SECONDS
            answered = 0
            while loop.time() < back:
                status, answer = await client.ask()
                assert (status, answer["pair"]["version"]) == (200, "1.0.0")
                assert (await client.get("/readyz"))[0] == 200
                answered += 1
                await asyncio.sleep(0.1)
            assert answered > 10
            assert "hat_ledger_failures_total 0.0" not in (await client.get("/metrics"))[1]
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(put_into_production, store, "1.1.0", MODEL, 1)
            async with asyncio.timeout(120):
                while (await client.ask())[1]["pair"]["version"] != "1.1.0":
                    await asyncio.sleep(0.2)

    try:
        asyncio.run(scenario())
    finally:
        server.kill()
