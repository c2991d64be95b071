"""The agent service beside the bare engine, and vLLM alone and shared: on one machine, on the same questions.

Exports a model, starts vLLM from the exported folder, and measures

- overhead: each question is asked of the service and, turn by turn, of the engine itself, alternately and in random
  order; the ratio of the median times with a bootstrap interval. Target: at most 1.03.
- throughput at concurrency 1 and at 8: sampled tokens a second. Target: at least 4 times as many.
- the share of prompt tokens that vLLM took from its prefix cache.

    make bench-serving
    python -m benchmarks.serving --model FOLDER --questions 40
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.base_model import base_model
from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task, get_domain
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.serving import machine
from hat.serving.command import export_model
from hat.serving.service.answer import Effort, Patience, play
from hat.serving.service.config import ServiceConfig
from hat.serving.service.pair import ServedPair
from hat.serving.service.run import running
from hat.serving.service.source import fixed_source
from hat.serving.service.streams import open_session
from hat.serving.service.vllm import VllmEngine
from tests.support.engines import REPOSITORY, vllm_server

REGISTRY = REPOSITORY / "harness_registry"
HARNESS = "live-shop@1.0.0"
DEADLINE = 600.0


async def ask_service(session: aiohttp.ClientSession, url: str, task: Task) -> int:
    """Sampled tokens of one question put to the service."""
    body = {"question": task.question, "session": dict(task.session)}
    async with session.post(f"{url}/v1/questions", json=body) as response:
        answer = await response.json()
        assert response.status == 200, answer
        return int(answer["output_tokens"])


async def ask_engine(pair: ServedPair, task: Task, max_new_tokens: int) -> int:
    """Sampled tokens of one question played straight against the engine: the same episode, no service."""
    effort = Effort()

    async def run_tool(task: Task, request: Any) -> Any:
        return pair.domain.execute(task, request.operation, request.arguments, request.attempt)

    episode = Episode(pair.state, task, pair.domain)
    await play(pair, episode, effort, run_tool, max_new_tokens=max_new_tokens, patience=Patience(1, 1.0))
    return effort.output_tokens


async def compare(
    session: aiohttp.ClientSession, url: str, pair: ServedPair, tasks: Sequence[Task], tokens: int
) -> list[tuple[float, float]]:
    """(service seconds, engine seconds) of each question; which comes first is drawn, so that caches favour none."""
    clock = asyncio.get_running_loop().time
    draw = random.Random(0)
    pairs = []
    for task in tasks:
        seconds = {}
        await ask_engine(pair, task, tokens)  # both then find the question's own prefix cached
        for name in draw.sample(["service", "engine"], 2):
            begin = clock()
            if name == "service":
                await ask_service(session, url, task)
            else:
                await ask_engine(pair, task, tokens)
            seconds[name] = clock() - begin
        pairs.append((seconds["service"], seconds["engine"]))
    return pairs


async def throughput(
    session: aiohttp.ClientSession, url: str, tasks: Sequence[Task], concurrency: int
) -> float:
    """Tokens a second through the service."""
    waiting = iter(tasks)
    loop = asyncio.get_running_loop()
    begin = loop.time()

    async def ask_in_turn() -> int:
        return sum([await ask_service(session, url, task) for task in waiting])

    tokens = sum(await asyncio.gather(*(ask_in_turn() for _ in range(concurrency))))
    return tokens / (loop.time() - begin)


def median_ratio(pairs: Sequence[tuple[float, float]], draws: int = 2000) -> tuple[float, float, float]:
    """Ratio of the medians, and its 95% bootstrap interval over questions."""

    def ratio(sample: Sequence[tuple[float, float]]) -> float:
        return statistics.median(s for s, _ in sample) / statistics.median(e for _, e in sample)

    rng = random.Random(0)
    ratios = sorted(ratio(rng.choices(pairs, k=len(pairs))) for _ in range(draws))
    return ratio(pairs), ratios[int(0.025 * draws)], ratios[int(0.975 * draws)]


async def cache_counts(session: aiohttp.ClientSession, engine: str) -> tuple[float, float]:
    """(hits, queries) of vLLM's prefix cache so far, in tokens."""
    async with session.get(f"{engine}/metrics") as response:
        lines = (await response.text()).splitlines()
    found = [
        sum(
            float(line.rsplit(" ", 1)[1])
            for line in lines
            if line.startswith(f"vllm:prefix_cache_{name}_total")
        )
        for name in ("hits", "queries")
    ]
    return found[0], found[1]


async def measure(
    engine_url: str, harness: Harness, domain: Domain, digest: str, questions: int, tokens: int
) -> dict[str, Any]:
    """All numbers, as a document."""
    config = ServiceConfig(
        port=0,
        engines=(engine_url,),
        deadline_seconds=DEADLINE,
        longest_deadline_seconds=DEADLINE,
        max_new_tokens=tokens,
    )
    room = domain.sample_session(0, "dev")
    tasks = domain.sample_tasks("dev", 4 * questions, 0, session=room)
    source = fixed_source("benchmark", harness, digest)
    async with (
        running(config, source, lambda digest: lambda messages, tools: "") as service,
        open_session(16) as straight,
        aiohttp.ClientSession() as session,
    ):
        while service.follower.pair is None:
            await asyncio.sleep(0.1)
        model = await VllmEngine(straight, engine_url).find(harness.name, digest)
        assert model is not None
        pair = ServedPair("benchmark", 0, HarnessState.original(harness), digest, domain, model)
        before = await cache_counts(session, engine_url)
        pairs = await compare(session, service.url, pair, tasks[:questions], tokens)
        one = await throughput(session, service.url, tasks[questions : 2 * questions], 1)
        # Twice as many: at the end of them fewer than eight are left to ask.
        eight = await throughput(session, service.url, tasks[2 * questions :], 8)
        after = await cache_counts(session, engine_url)
    ratio, low, high = median_ratio(pairs)
    return {
        "questions_each": questions,
        "service_p50_seconds": round(statistics.median(s for s, _ in pairs), 4),
        "engine_p50_seconds": round(statistics.median(e for _, e in pairs), 4),
        "overhead_ratio": [round(value, 4) for value in (ratio, low, high)],
        "tokens_a_second_at_1": round(one, 1),
        "tokens_a_second_at_8": round(eight, 1),
        "throughput_ratio": round(eight / one, 2),
        "prefix_cache_hit_rate": round((after[0] - before[0]) / (after[1] - before[1]), 3),
        "cpu": machine.cpu_name(),
        "cores": machine.cores(),
        "load_average": round(machine.load_average(), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="model folder; default: the base model")
    parser.add_argument("--questions", type=int, default=24)
    parser.add_argument("--max-new-tokens", type=int, default=48)
    given = parser.parse_args()
    model = given.model
    if model is None:
        model = base_model()
    name, _, version = HARNESS.partition("@")
    harness = Registry(REGISTRY).load(name, version)
    with tempfile.TemporaryDirectory(prefix="hat-bench-") as place:
        folder = Path(place) / "vllm"
        document = export_model(str(model), "vllm", folder, registry=REGISTRY, reference=HARNESS)
        with vllm_server(folder, Path(place) / "log") as server:
            numbers = asyncio.run(
                measure(
                    server.url,
                    harness,
                    get_domain(harness.domain),
                    document["source_digest"],
                    given.questions,
                    given.max_new_tokens,
                )
            )
    print(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
