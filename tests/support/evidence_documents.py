"""The documents of a sound evidence folder, and their parts; `make_evidence` puts faults into them."""

import hashlib
import random
from typing import Any

Documents = dict[str, Any]
"""File name in the folder to its document."""

INTENTS = ("price", "stock", "shipping", "coupon", "returns")
SKILLS = ("item-qa", "polite-decline", "item-qa", "offers", "returns-policy")
"""By number, so that each is asked of within every intent."""
ITEMS = 60
REQUESTS = 103
BASE = "evaluation/base.json"
CANDIDATE = "evaluation/candidate.json"
PRODUCTION = "evaluation/production.json"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def item(number: int, correct: int) -> dict[str, Any]:
    return {
        "id": f"q{number:03d}",
        "task_digest": digest(f"task {number}")[:16],
        "state": "original",
        "intent": INTENTS[number * len(INTENTS) // ITEMS],
        "skill": SKILLS[number % len(SKILLS)],
        "language": "zh" if number % 4 == 0 else "en",
        "answerable": number % 5 != 1,
        "correct": correct,
        "skill_loaded": 1,
        "refused": int(number % 5 == 1),
    }


def prompt(number: int, correct: int) -> dict[str, Any]:
    """One general instruction: no harness, so no skill and nothing to decline."""
    return {
        "id": f"if-{number:03d}",
        "task_digest": digest(f"prompt {number}")[:16],
        "state": "",
        "intent": "instructions",
        "language": "en",
        "correct": correct,
    }


def evaluation(model: str, wrong: set[int]) -> dict[str, Any]:
    """An evaluation in which exactly the items numbered in ``wrong`` are wrong."""
    document = {
        "schema_version": 1,
        "harness": "live-shop",
        "version": "1.1.0",
        "harness_digest": digest("harness"),
        "model": model,
        "model_digest": digest(model),
        "items_digest": digest("items"),
        "suites": {
            "live_stream_qa": {"items": [item(number, int(number not in wrong)) for number in range(ITEMS)]},
            "ifeval": {"items": [prompt(number, int(number % 5 != 0)) for number in range(ITEMS)]},
        },
    }
    summarise(document)
    return document


def summarise(document: dict[str, Any]) -> None:
    """Make each suite's summary agree with its items."""
    for suite in document["suites"].values():
        scores = [one["correct"] for one in suite["items"] if isinstance(one["correct"], int)]
        suite["n"] = len(suite["items"])
        suite["accuracy"] = sum(scores) / len(scores) if scores else None


def latency(stall: tuple[float, float] | None = None, count: int = REQUESTS) -> dict[str, Any]:
    """Open-loop load, ten requests a second; a server that answers in 0.1 to 0.2 s except during a stall."""
    generator = random.Random(7)
    clock, requests = 0.0, []
    for number in range(count):
        clock += generator.expovariate(10)
        started = clock
        if stall is not None and stall[0] <= clock < stall[0] + stall[1]:
            started = stall[0] + stall[1]
        requests.append(
            {
                "id": f"r{number:03d}",
                "scheduled": round(clock, 4),
                "started": round(started, 4),
                "first_token": round(started + 0.05, 4),
                "finished": round(started + generator.uniform(0.1, 0.2), 4),
                "status": "ok",
                "output_tokens": 30,
            }
        )
    return {
        "schema_version": 1,
        "engine": "vllm",
        "hardware": "NVIDIA H20",
        "cores": 16,
        "model_digest": digest("candidate"),
        "harness_digest": digest("harness"),
        "concurrency": None,
        "arrival": "poisson",
        "rate": 10.0,
        "shared_device": False,
        "warmup": [],
        "requests": requests,
    }


def sound() -> Documents:
    """A candidate slightly better than production, everything measured and consistent."""
    return {
        "subject.json": {
            "schema_version": 1,
            "environment": "example",
            "harness": "live-shop",
            "version": "1.1.0",
            "harness_digest": digest("harness"),
            "models": {name: digest(name) for name in ("base", "production", "candidate")},
            "ledger_head": 4,
            "engine": "vllm",
            "hardware": "NVIDIA H20",
            "training_items": "training_items.json",
        },
        "training_items.json": {
            "schema_version": 1,
            "task_digests": sorted(digest(f"training task {number}")[:16] for number in range(8)),
        },
        BASE: evaluation("base", set(range(0, ITEMS, 2))),
        PRODUCTION: evaluation("production", {3, 15, 16, 27, 28, 39, 40, 51}),
        CANDIDATE: evaluation("candidate", {3, 15, 27, 39, 51, 52}),
        "latency.json": latency(),
    }
