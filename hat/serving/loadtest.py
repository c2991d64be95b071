"""Drives a running agent service under a policy's load and writes `latency.json`, evidence for the gate."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from hat.domains.base import Domain, Task, get_domain
from hat.errors import BadInput, EnvironmentFailure
from hat.files import write_json_atomic
from hat.harness.registry import Registry
from hat.promotion.policy import LatencyPolicy, load_policies
from hat.serving import machine
from hat.serving.config import LatencyConfig
from hat.serving.latency import Progress, drive, request_documents, requests_to_send
from hat.serving.load import Answered, EngineError, Request
from hat.serving.service.app import PAIR, QUESTIONS
from hat.serving.service.config import http_address

_LISTING_SECONDS = 10.0
_PAIR_FIELDS = (
    "environment",
    "harness",
    "version",
    "harness_digest",
    "model_digest",
    "engine",
    "hardware",
)


def load_test(
    url: str,
    policy_file: Path,
    *,
    environment: str = "",
    registry: Path,
    config: LatencyConfig,
    exclusive: bool = False,
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """`latency.json` of the service at ``url``, also written to ``out``.

    Args:
        environment: whose policy; by default the service's own.
        registry: has the harness that is served, for its domain's questions.
        exclusive: the operator states that nothing else used the engine's device meanwhile. A client of a
            server cannot see that, so without the statement the device counts as shared.

    Raises:
        BadInput: not an HTTP address, no policy for the environment, none of its latency, or too few questions.
        EnvironmentFailure: the service cannot be reached, is not ready, or changed its pair meanwhile.
    """
    try:
        http_address(url)
    except ValueError as error:
        mend = "E.g. http://127.0.0.1:8080."
        raise BadInput(f"not the address of a service: {url!r}", where="URL", mend=mend) from error
    url = url.rstrip("/")
    return asyncio.run(_load_test(url, policy_file, environment, registry, config, exclusive, out, progress))


async def _load_test(
    url: str,
    policy_file: Path,
    environment: str,
    registry: Path,
    config: LatencyConfig,
    exclusive: bool,
    out: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    policies = load_policies(policy_file)
    # One connection a question in flight, however many: the generator must never make a question wait.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        pair = await _pair(session, url)
        load = _load(
            policies.policy(environment or pair["environment"], where=str(policy_file)).latency, policy_file
        )
        domain = get_domain(Registry(registry).load(pair["harness"], pair["version"]).domain)
        document = await measure_service(
            session, url, load, domain, config, exclusive=exclusive, progress=progress
        )
    if out is not None:
        write_json_atomic(out, document)
    return document


async def measure_service(
    session: aiohttp.ClientSession,
    url: str,
    load: LatencyPolicy,
    domain: Domain,
    config: LatencyConfig,
    *,
    exclusive: bool,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """`latency.json` of a service under a load, by a client session without a bound on its connections.

    Raises:
        BadInput: fewer questions than warm-up, or more than the domain can ask in one room.
        EnvironmentFailure: the service is not ready, or changed its pair meanwhile.
    """
    pair = await _pair(session, url)
    count = requests_to_send(load, config)
    room = domain.sample_session(config.seed, config.split)
    tasks = domain.sample_tasks(config.split, count, config.seed, session=room)
    answer = _asking(session, f"{url}{QUESTIONS}", tasks, config.timeout_seconds)
    requests = await drive(answer, count, load, config, lambda done: progress(done, count))
    if await _pair(session, url) != pair:
        raise EnvironmentFailure(
            "the service changed its pair during the load test",
            where=url,
            mend="Run it again: the times of two pairs are no evidence for either.",
        )
    return _document(pair, load, config, requests, tasks, exclusive)


def _document(
    pair: dict[str, Any],
    load: LatencyPolicy,
    config: LatencyConfig,
    requests: Sequence[Request],
    tasks: Sequence[Task],
    exclusive: bool,
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "engine": pair["engine"],
        "hardware": pair["hardware"],
        "client_cpu": machine.cpu_name(),
        "arrival": load.arrival,
        # In an open loop: how many the service answers at once.
        "concurrency": load.concurrency if load.arrival == "closed-loop" else pair["concurrency"],
        "rate": load.rate,
        "shared_device": not exclusive,
        **{name: pair[name] for name in ("model_digest", "harness", "version", "harness_digest")},
        "split": config.split,
        "seed": config.seed,
        "warmup_requests": load.warmup_requests,
        "warmup": [],
        "requests": request_documents(requests, tasks),
    }


def _load(load: LatencyPolicy | None, policy_file: Path) -> LatencyPolicy:
    if load is None:
        raise BadInput("the policy says nothing of latency", where=str(policy_file))
    return load


async def _pair(session: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    """What the service serves; where the ledger's entry number changes alone, the pair is the same."""
    try:
        async with asyncio.timeout(_LISTING_SECONDS), session.get(f"{url}{PAIR}") as response:
            if response.status != 200:
                raise EnvironmentFailure(
                    f"the service is not ready: HTTP {response.status}",
                    where=url,
                    mend="Look at its /readyz.",
                )
            pair: dict[str, Any] = await response.json()
            names = {name: str(pair[name]) for name in _PAIR_FIELDS}
            return {**names, "concurrency": int(pair["concurrency"])}
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError, KeyError, TypeError) as error:
        raise EnvironmentFailure(
            f"no agent service answers: {error or type(error).__name__}",
            where=url,
            mend="Start one with `hat serve`.",
        ) from error


def _asking(session: aiohttp.ClientSession, url: str, tasks: Sequence[Task], timeout: float) -> Any:
    """What `hat.serving.load` drives."""
    clock = asyncio.get_running_loop().time

    async def answer(index: int) -> Answered:
        task = tasks[index]
        body = {
            "question": task.question,
            "session": dict(task.session),
            "language": task.language,
            "deadline_ms": max(1, int(1000 * timeout)),
        }
        started = clock()
        try:
            async with session.post(url, json=body) as response:
                answered = await response.json()
                if response.status != 200:
                    raise EngineError(f"HTTP {response.status}: {answered['error']['code']}")
                finished = clock()
            return Answered(
                started=started,
                turns=_turns(started, answered["turn_first_tokens"]),
                finished=finished,
                output_tokens=int(answered["output_tokens"]),
                details={"intent": task.intent, "end": answered["end"]},
            )
        except (aiohttp.ClientError, OSError, ValueError, KeyError, TypeError) as error:
            raise EngineError(f"no answer: {error or type(error).__name__}") from error

    return answer


def _turns(started: float, first_tokens: Sequence[Any]) -> tuple[float, ...]:
    """When each turn's first token was there. Raises `ValueError` for what cannot be times."""
    # The service's times count from the question's arrival there; the way to it is not in them.
    turns = tuple(started + float(seconds) for seconds in first_tokens)
    if not turns or not all(map(math.isfinite, turns)):
        raise ValueError("no times of the first tokens")
    return turns
