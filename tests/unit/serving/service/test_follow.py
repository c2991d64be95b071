"""The service follows a real ledger in a real (local) store."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.promotion.ledger import rollback
from hat.serving.engines import model_name
from hat.serving.service.source import PairSource, WantedPair, ledger_source
from hat.storage import Store, open_store
from tests.support.fake_engine import fake_engine
from tests.support.promotions import put_into_production
from tests.support.serving import Client, serving

OLD, NEW = "a" * 64, "b" * 64
OLD_MODEL, NEW_MODEL = model_name("live-shop", OLD), model_name("live-shop", NEW)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"))


def run(scenario: Any) -> None:
    asyncio.run(asyncio.wait_for(scenario, 300))


async def until_served(client: Client, sequence: int) -> None:
    while True:
        pair = client.service.follower.pair
        if pair is not None and pair.sequence == sequence:
            return
        await asyncio.sleep(0.01)


def test_nothing_in_production_is_not_ready_and_a_first_promotion_is_served(store: Store) -> None:
    async def scenario() -> None:
        async with fake_engine(OLD_MODEL) as engine:
            source = ledger_source(store, "laptop", "live-shop")
            async with serving(source, engine.url, ready=False) as client:
                await client.until_not_ready("nothing is in production")
                assert (await client.ask())[0] == 503
                shown = (await client.get("/metrics"))[1]
                assert 'hat_refused_total{reason="not_ready"} 1.0' in shown
                assert "hat_question_seconds_count 0.0" in shown
                assert (await client.get("/healthz"))[0] == 200
                put_into_production(store, "1.0.0", OLD, 0)
                await client.until_ready()
                status, answer = await client.ask()
                assert (status, answer["pair"]["version"], answer["pair"]["sequence"]) == (200, "1.0.0", 1)

    run(scenario())


def test_a_new_harness_for_the_same_model_is_picked_up_without_dropping_a_request(store: Store) -> None:
    async def scenario() -> None:
        put_into_production(store, "1.0.0", OLD, 0)
        async with fake_engine(OLD_MODEL, seconds=0.05) as engine:
            source = ledger_source(store, "laptop", "live-shop")
            async with serving(source, engine.url, concurrency=4, queue=8) as client:
                versions: list[str] = []
                going_on = True

                async def keep_asking() -> None:
                    while going_on:
                        status, answer = await client.ask()
                        assert status == 200, answer
                        versions.append(answer["pair"]["version"])

                asking = [asyncio.create_task(keep_asking()) for _ in range(8)]
                await asyncio.sleep(0.5)
                put_into_production(store, "1.1.0", OLD, 1)
                await until_served(client, 2)
                await asyncio.sleep(0.5)
                rollback(store, "laptop", "live-shop", reason="test", who="test", when="now")
                await until_served(client, 3)
                await asyncio.sleep(0.5)
                going_on = False
                await asyncio.gather(*asking)
                assert set(versions) == {"1.0.0", "1.1.0"}
                assert versions[0] == versions[-1] == "1.0.0"

    run(scenario())


def test_a_new_model_is_served_only_when_an_engine_has_it_and_is_warm(store: Store) -> None:
    async def scenario() -> None:
        put_into_production(store, "1.0.0", OLD, 0)
        async with fake_engine(OLD_MODEL) as old, fake_engine() as new:
            source = ledger_source(store, "laptop", "live-shop")
            async with serving(source, old.url, new.url) as client:
                put_into_production(store, "1.1.0", NEW, 1)
                while "hat_behind_ledger 1.0" not in (await client.get("/metrics"))[1]:
                    await asyncio.sleep(0.01)
                assert (await client.get("/readyz"))[0] == 200
                _, answer = await client.ask()
                # Never the new harness with the old model: that pair was not promoted.
                assert (answer["pair"]["version"], answer["pair"]["model_digest"]) == ("1.0.0", OLD)
                new.faults = ["503"] * 3  # not warm yet
                new.models.append(NEW_MODEL)
                await until_served(client, 2)
                assert (new.faults, new.served) == ([], 1)
                _, answer = await client.ask()
                assert (answer["pair"]["version"], answer["pair"]["model_digest"]) == ("1.1.0", NEW)
                assert "hat_behind_ledger 0.0" in (await client.get("/metrics"))[1]

    run(scenario())


def test_a_started_service_is_not_ready_until_its_engine_serves_that_model(store: Store) -> None:
    async def scenario() -> None:
        put_into_production(store, "1.0.0", NEW, 0)
        async with fake_engine(OLD_MODEL) as engine:
            source = ledger_source(store, "laptop", "live-shop")
            async with serving(source, engine.url, ready=False) as client:
                await client.until_not_ready("does not serve model bbbbbbbbbbbb")
                engine.models.append(NEW_MODEL)
                await client.until_ready()

    run(scenario())


def test_a_ledger_that_is_down_changes_nothing_that_is_served(store: Store) -> None:
    async def scenario() -> None:
        put_into_production(store, "1.0.0", OLD, 0)
        real = ledger_source(store, "laptop", "live-shop")
        down = False

        def wanted() -> WantedPair | None:
            if down:
                raise EnvironmentFailure("cannot be reached", where="s3://bucket")
            return real.wanted()

        async with (
            fake_engine(OLD_MODEL) as engine,
            serving(PairSource(wanted, real.load), engine.url) as client,
        ):
            down = True
            put_into_production(store, "1.1.0", OLD, 1)
            for _ in range(10):
                assert (await client.ask())[0] == 200
                await asyncio.sleep(0.05)
            assert (await client.get("/readyz"))[0] == 200
            assert "hat_ledger_failures_total 0.0" not in (await client.get("/metrics"))[1]
            down = False
            await until_served(client, 2)

    run(scenario())


def test_the_old_pair_never_answers_with_the_new_model_while_that_one_warms_up(store: Store) -> None:
    """Both models are on one engine, as at an address behind which one takes the other's place."""

    async def scenario() -> None:
        put_into_production(store, "1.0.0", OLD, 0)
        async with fake_engine(OLD_MODEL) as engine:
            source = ledger_source(store, "laptop", "live-shop")
            async with serving(source, engine.url, attempts=1) as client:
                engine.models.append(NEW_MODEL)
                engine.seconds = 0.3
                put_into_production(store, "1.1.0", NEW, 1)
                while NEW_MODEL not in engine.asked:
                    await asyncio.sleep(0.01)
                engine.asked.clear()  # the new model warms up
                _, answer = await client.ask()
                assert answer["pair"]["model_digest"] == OLD
                # Of the turns asked for by this question, all went to the model that the answer names.
                assert [name for name in engine.asked if name == OLD_MODEL] == [OLD_MODEL] * answer["turns"]
                await until_served(client, 2)
                engine.models.remove(NEW_MODEL)
                # A model that is gone is an error, and not another model's answer.
                status, body = await client.ask()
                assert (status, body["error"]["code"]) == (502, "engine_refused")

    run(scenario())


def test_a_ledger_that_lost_entries_counts_as_one_that_is_down(store: Store) -> None:
    async def scenario() -> None:
        put_into_production(store, "1.0.0", OLD, 0)
        source = ledger_source(store, "laptop", "live-shop")
        async with fake_engine(OLD_MODEL) as engine, serving(source, engine.url) as client:
            await until_served(client, 1)
            store.delete("ledger/laptop/live-shop/00000001.json")
            while "hat_ledger_failures_total 0.0" in (await client.get("/metrics"))[1]:
                await asyncio.sleep(0.05)
            assert (await client.ask())[0] == 200

    run(scenario())


@pytest.mark.parametrize("environment", ["../x", "a b", ""])
def test_an_environment_that_no_ledger_can_have_is_refused_at_once(store: Store, environment: str) -> None:
    with pytest.raises(BadInput, match="cannot name a ledger"):
        ledger_source(store, environment, "live-shop")
