"""The serving path of production, all of it real: SeaweedFS, ledger, vLLM, `hat serve`, `hat loadtest`, the limits."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from hat.harness.model import Harness
from hat.promotion.documents import EvidenceSubject, LatencyDocument, SubjectModels
from hat.promotion.latency import latency_reasons
from hat.promotion.ledger import rollback
from hat.promotion.policy import load_policies
from hat.promotion.reasons import ReasonCode
from hat.storage import open_store
from tests.support import seaweedfs
from tests.support.engines import REPOSITORY, Server
from tests.support.promotions import put_into_production
from tests.support.serve_process import ServeProcess, serve_process
from tests.support.serving import QUESTION

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]
POLICY = {
    "schema_version": 1,
    "environments": {
        "laptop": {
            "description": "Six questions, one every two seconds: shows the path, and nothing of speed.",
            "engines": ["vllm"],
            "hardware": ["cpu"],
            "absolute": [{"suite": "live_stream_qa", "metric": "accuracy", "at_least": 0, "minimum_n": 1}],
            "latency": {
                "arrival": "poisson",
                "rate": 0.5,
                "warmup_requests": 1,
                "limits": [
                    {"percentile": 50, "milliseconds": 600_000},
                    {"measure": "first_token", "percentile": 50, "milliseconds": 600_000},
                ],
            },
        }
    },
}


async def served_version(service: ServeProcess, session: aiohttp.ClientSession) -> str:
    async with session.get(f"{service.url}/v1/pair") as response:
        return str((await response.json())["version"])


async def until_served(version: str, service: ServeProcess, session: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(120):
        while await served_version(service, session) != version:
            await asyncio.sleep(0.2)


async def load_test(url: str, policy: Path, out: Path) -> None:
    """`hat loadtest` as a user types it."""
    command = [sys.executable, "-m", "pipelines.cli", "loadtest", url, "--policy", str(policy)]
    command += ["--out", str(out), "--exclusive", "--set", "timeout_seconds=600"]
    process = await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY, stderr=subprocess.PIPE)
    _, remarks = await process.communicate()
    assert process.returncode == 0, remarks.decode()


def test_the_pair_in_production_is_followed_from_a_real_store_and_its_load_test_is_evidence(
    vllm: Server,
    exports: dict[str, Any],
    harness: Harness,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    (tmp_path / "seaweedfs").mkdir()
    weed = seaweedfs.Server(tmp_path / "seaweedfs")
    weed.start()
    place = seaweedfs.address(weed, "bucket/production")
    store = open_store(place)
    policy, evidence = tmp_path / "gate.yaml", tmp_path / "evidence"
    policy.write_text(yaml.safe_dump(POLICY), encoding="utf-8")

    async def scenario() -> None:
        settings = (
            "poll_seconds=0.5",
            "max_new_tokens=24",
            "deadline_seconds=600",
            "longest_deadline_seconds=600",
        )
        options = [option for setting in settings for option in ("--set", setting)]
        async with (
            aiohttp.ClientSession() as session,
            serve_process(place, f"--engine={vllm.url}", *options) as service,
        ):
            assert await served_version(service, session) == "1.0.0"
            await load_test(service.url, policy, evidence)
            put_into_production(store, "1.1.0", exports["digest"], 1)
            await until_served("1.1.0", service, session)
            async with session.post(f"{service.url}/v1/questions", json=QUESTION) as response:
                answer = await response.json()
            assert (response.status, answer["pair"]["version"], answer["pair"]["sequence"]) == (
                200,
                "1.1.0",
                2,
            )
            rollback(store, "laptop", "live-shop", reason="a test", who="test", when="2026-01-02T00:00:00Z")
            await until_served("1.0.0", service, session)

    try:
        put_into_production(store, "1.0.0", exports["digest"], 0)
        asyncio.run(scenario())
    finally:
        weed.kill()
    document = LatencyDocument.model_validate(
        json.loads((evidence / "latency.json").read_text(encoding="utf-8"))
    )
    subject = EvidenceSubject(
        schema_version=1,
        environment="laptop",
        harness="live-shop",
        version="1.0.0",
        harness_digest=harness.digest,
        models=SubjectModels(candidate=exports["digest"]),
        ledger_head=0,
        engine="vllm",
        hardware="cpu",
        training_items=None,
    )
    reasons = latency_reasons(load_policies(policy).policy("laptop"), document, subject)
    assert [reason.code for reason in reasons] == [ReasonCode.MET, ReasonCode.MET, ReasonCode.WARMUP_EXCLUDED]
