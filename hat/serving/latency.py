"""Times the answers of an exported model, from question to final reply, as evidence for the gate."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hat.domains.base import Domain, Task
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.models.precision import compute_dtype
from hat.promotion.policy import LatencyPolicy, PercentileLimit
from hat.serving import machine
from hat.serving.config import LatencyConfig
from hat.serving.load import Answer, Request, closed_loop, open_loop, poisson_offsets

Progress = Callable[[int, int], None]
"""(questions done, questions in all)"""

LOAD_WITHOUT_POLICY = LatencyPolicy(
    arrival="closed-loop",
    concurrency=1,
    warmup_requests=3,
    limits=(PercentileLimit(percentile=90, milliseconds=1000, confidence=0.95),),
)
"""One viewer at a time, enough questions for a P90 at 95%; its limit is never used."""


def measure_latency(
    model_folder: Path,
    harness: Harness,
    domain: Domain,
    policy: LatencyPolicy | None,
    config: LatencyConfig,
    *,
    model_digest: str = "",
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """`latency.json` of a model folder under a harness, by the in-process engine on this machine's CPU.

    The first ``policy.warmup_requests`` requests are sent and recorded like the others; the gate leaves them
    out. An episode that ends by its limits without a reply is an answer like any other here: how long the
    viewer waited counts, and whether it was right is the suites' business.

    Args:
        policy: says under which load to measure, and how many questions prove its limits.

    Raises:
        BadInput: fewer questions than warm-up, or more than the domain can ask in one room.
    """
    load = policy or LOAD_WITHOUT_POLICY
    count = requests_to_send(load, config)
    session = domain.sample_session(config.seed, config.split)
    # One room, as a server of a live room has: its system prompt is the same for all viewers.
    tasks = domain.sample_tasks(config.split, count, config.seed, session=session)
    import torch
    import transformers

    from hat.serving.engine import InProcessEngine

    with InProcessEngine(model_folder, harness, domain, max_new_tokens=config.max_new_tokens) as engine:
        load_at_start, before = machine.load_average(), machine.usage_now()
        requests = run_load(engine.answering(tasks), count, load, config, lambda done: progress(done, count))
        share = machine.others_share(before, machine.usage_now())
    return {
        "schema_version": 1,
        "engine": "transformers",
        "engine_version": transformers.__version__,
        "hardware": "cpu",
        "cpu": machine.cpu_name(),
        "cores": machine.cores(),
        "torch_threads": torch.get_num_threads(),
        "weights": "bfloat16",
        "computed_in": str(compute_dtype()).removeprefix("torch."),
        "prefix_cached": True,
        "arrival": load.arrival,
        "concurrency": load.concurrency if load.arrival == "closed-loop" else None,
        "rate": load.rate,
        "shared_device": machine.is_shared(share, load_at_start),
        "load_average_at_start": round(load_at_start, 2),
        "others_cpu_share": None if share is None else round(share, 3),
        "model_digest": model_digest,
        "harness": harness.name,
        "version": harness.version,
        "harness_digest": harness.digest,
        "split": config.split,
        "seed": config.seed,
        "warmup_requests": load.warmup_requests,
        "warmup": [],
        "requests": request_documents(requests, tasks),
    }


def requests_to_send(load: LatencyPolicy, config: LatencyConfig) -> int:
    """How many questions to ask, warm-up included: as set, else the fewest that prove the policy's limits.

    Raises:
        BadInput: fewer questions than warm-up.
    """
    count = config.requests or load.requests_needed
    if count <= load.warmup_requests:
        raise BadInput(
            f"{count} requests are no more than the {load.warmup_requests} of the warm-up",
            where="latency.requests",
            mend=f"Ask at least {load.requests_needed}, or leave it out.",
        )
    return count


def run_load(
    answer: Answer,
    count: int,
    load: LatencyPolicy,
    config: LatencyConfig,
    on_done: Callable[[int], None] = lambda done: None,
) -> list[Request]:
    """Put ``count`` questions to an engine under the policy's load."""
    return asyncio.run(drive(answer, count, load, config, on_done))


async def drive(
    answer: Answer,
    count: int,
    load: LatencyPolicy,
    config: LatencyConfig,
    on_done: Callable[[int], None] = lambda done: None,
) -> list[Request]:
    """`run_load` in a running event loop."""
    if load.arrival == "closed-loop":
        return await closed_loop(
            answer,
            count,
            concurrency=load.concurrency or 1,
            timeout=config.timeout_seconds,
            on_done=on_done,
        )
    offsets = poisson_offsets(count, load.rate or 1.0, config.seed)
    return await open_loop(answer, offsets, timeout=config.timeout_seconds, on_done=on_done)


def request_documents(requests: Sequence[Request], tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """The requests as the evidence has them; times in seconds since the first was scheduled."""
    begin = min(request.scheduled for request in requests)
    return [_request_document(request, tasks[request.index].id, begin) for request in requests]


def _request_document(request: Request, identity: str, begin: float) -> dict[str, Any]:
    scheduled = round(request.scheduled - begin, 6)
    answered = request.answered
    if answered is None:
        nothing = {"started": None, "first_token": None, "finished": None, "output_tokens": 0}
        ended = {"status": request.status, "problem": request.problem}
        return {"id": identity, "scheduled": scheduled, **nothing, **ended}
    turns = [round(at - begin, 6) for at in answered.turns]
    return {
        "id": identity,
        "scheduled": scheduled,
        "started": round(answered.started - begin, 6),
        "first_token": turns[0],
        "finished": round(answered.finished - begin, 6),
        "output_tokens": answered.output_tokens,
        "status": request.status,
        "turn_first_tokens": turns,
        **answered.details,
    }
