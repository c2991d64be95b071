"""`hat serve` as a process: SIGTERM under load, a rolling restart to a new model, bad input."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hat.serving.engines import model_name
from hat.storage import open_store
from tests.support.engines import REPOSITORY
from tests.support.fake_engine import fake_engine
from tests.support.promotions import put_into_production
from tests.support.serve_process import ServeProcess, serve_process
from tests.support.serving import QUESTION

pytestmark = pytest.mark.timeout(900)
OLD, NEW = "a" * 64, "b" * 64


def run(scenario: Any) -> None:
    asyncio.run(asyncio.wait_for(scenario, 800))


async def ask(session: aiohttp.ClientSession, service: ServeProcess) -> str:
    """A status, or what happened to the connection."""
    try:
        async with session.post(f"{service.url}/v1/questions", json=QUESTION) as response:
            body = await response.json()
            return f"{response.status} {body['end'] if response.status == 200 else body['error']['code']}"
    except aiohttp.ClientConnectionError:
        return "not connected"


def test_sigterm_under_load_answers_every_accepted_question_and_ends_well(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = str(tmp_path / "store")
        put_into_production(open_store(store), "1.0.0", OLD, 0)
        async with (
            fake_engine(model_name("live-shop", OLD), seconds=0.2) as engine,
            serve_process(
                store, f"--engine={engine.url}", "--set", "concurrency=8", "--set", "queue=200"
            ) as service,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        ):
            accepted = [asyncio.create_task(ask(session, service)) for _ in range(100)]
            async with asyncio.timeout(60):
                while engine.served < 10:
                    await asyncio.sleep(0.02)
            async with session.get(f"{service.url}/metrics") as response:
                assert "hat_accepted 0.0" not in await response.text()
            service.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(30):
                while True:
                    async with session.get(f"{service.url}/readyz") as response:
                        if response.status == 503:
                            break
            assert await ask(session, service) == "503 draining"
            answers = Counter(await asyncio.gather(*accepted))
            assert answers == {"200 replied": 100}
            assert await asyncio.wait_for(service.process.wait(), 60) == 0

    run(scenario())


def test_a_rolling_restart_brings_a_new_model_without_losing_a_question(tmp_path: Path) -> None:
    """Another service starts beside the old one, is not ready until its engine has the model, then takes over."""

    async def scenario() -> None:
        store = str(tmp_path / "store")
        put_into_production(open_store(store), "1.0.0", OLD, 0)
        async with (
            fake_engine(model_name("live-shop", OLD), seconds=0.02) as old_engine,
            fake_engine(model_name("live-shop", NEW), seconds=0.02) as new_engine,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
            serve_process(store, f"--engine={old_engine.url}", "--set", "poll_seconds=0.2") as old,
        ):
            serving = old
            answers: Counter[str] = Counter()
            going_on = True

            async def keep_asking() -> None:
                while going_on:
                    answers[await ask(session, serving)] += 1

            asking = [asyncio.create_task(keep_asking()) for _ in range(4)]
            put_into_production(open_store(store), "1.1.0", NEW, 1)
            async with serve_process(store, f"--engine={new_engine.url}") as new:
                async with session.get(f"{new.url}/v1/pair") as response:
                    pair = await response.json()
                assert (pair["version"], pair["model_digest"]) == ("1.1.0", NEW)
                async with session.get(f"{old.url}/v1/pair") as response:
                    assert (await response.json())["model_digest"] == OLD
                serving = new
                await asyncio.sleep(0.5)  # what was sent to the old one has been accepted there
                old.process.send_signal(signal.SIGTERM)
                assert await asyncio.wait_for(old.process.wait(), 60) == 0
                await asyncio.sleep(0.5)
                going_on = False
                await asyncio.gather(*asking)
            assert set(answers) == {"200 replied"}
            assert new_engine.served > 2

    run(scenario())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["live-shop@1.0.0", "--engine=http://127.0.0.1:1"],
            "which version is served is what the ledger says",
        ),
        (["live-shop", "--engine=http://127.0.0.1:1", "--channel=candidate"], "does not go with"),
        (["live-shop", "--engine=http://127.0.0.1:1", "--set", "concurrency=0"], "concurrency"),
        (["live-shop", "--engine=http://127.0.0.1:1", "--engine-kind=llama"], "engine"),
        (
            ["live-shop@1.0.0", "--engine=http://127.0.0.1:1", "--channel=candidate", "--model=ab"],
            "no model with a digest that begins with 'ab'",
        ),
    ],
)
def test_bad_input_is_one_message_and_status_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "serve", *arguments],
        env={**os.environ, "HAT_STORE": str(tmp_path), "PYTHONPATH": str(REPOSITORY)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
