"""Times the answers of the agent service in front of vLLM, as a user of the promoted pair would meet them."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp

from hat.domains.base import Domain
from hat.errors import EnvironmentFailure
from hat.harness.model import Harness
from hat.promotion.policy import LatencyPolicy
from hat.serving import machine
from hat.serving.config import EngineConfig, ExportConfig, LatencyConfig
from hat.serving.latency import LOAD_WITHOUT_POLICY, Progress, requests_to_send
from hat.serving.loadtest import measure_service
from hat.serving.service.config import ServiceConfig
from hat.serving.service.run import Running, running
from hat.serving.service.source import fixed_source
from hat.serving.vllm_server import served_model

_READY_SECONDS = 300.0


def measure_served_latency(
    model_folder: Path,
    harness: Harness,
    domain: Domain,
    policy: LatencyPolicy | None,
    config: LatencyConfig,
    *,
    engine: EngineConfig,
    export: ExportConfig,
    environment: str,
    model_digest: str,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """`latency.json` of the pair (harness, model), with vLLM, the service and its clients on this machine.

    The service answers as many questions at once as the policy says. Whether something else used the device is what
    `engine.exclusive` states.

    Raises:
        BadInput: vLLM is not there, the model cannot be served, or fewer questions than warm-up.
        EnvironmentFailure: vLLM or the service does not come up.
    """
    load = policy or LOAD_WITHOUT_POLICY
    settings = {
        "port": 0,
        "engine": "vllm",
        "hardware": machine.hardware(),
        "concurrency": load.concurrency or engine.concurrency,
        "queue": requests_to_send(load, config),
        "deadline_seconds": config.timeout_seconds,
        "longest_deadline_seconds": config.timeout_seconds,
        "max_new_tokens": config.max_new_tokens,
    }

    async def measure(url: str) -> dict[str, Any]:
        source = fixed_source(environment, harness, model_digest)
        service_config = ServiceConfig.model_validate({**settings, "engines": (url,)})
        async with (
            running(service_config, source, _no_template) as service,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        ):
            await _until_ready(service)
            return await measure_service(
                session, service.url, load, domain, config, exclusive=engine.exclusive, progress=progress
            )

    with served_model(model_folder, harness, model_digest, export, engine) as served:
        return asyncio.run(measure(served.url))


async def _until_ready(service: Running) -> None:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while service.follower.not_ready:
                await asyncio.sleep(0.1)
    except TimeoutError as error:
        raise EnvironmentFailure(
            f"the agent service is not ready: {service.follower.not_ready}", where="latency"
        ) from error


def _no_template(digest: str) -> Any:
    raise AssertionError("vLLM renders conversations itself")
