"""How fast harness states are sampled and proven, and trajectories presented, on one core; and that memory stays flat.

    python -m benchmarks.augmentation [--states 600] [--split train] [--families default|full]

Seconds are those of the processor (`time.process_time`), so a busy machine disturbs them less than the clock's; they
still grow when a sibling thread is busy, so the rate of a fixed reference loop is measured before and after and
printed with the results. "verified, own task": a state as training draws it on the fly, for one task: sampled, then
all six gates with a replay of that task's gold, mutants and codec checks. "verified, every intent": as planned
states are proven, with a replay of one gold of each intent. Nothing is stored; states are dropped one by one.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

from hat.augment.config import AugmentConfig
from hat.augment.plan import draw_states, expert_gold
from hat.augment.verify import Gold, verify_state
from hat.domains.base import get_domain
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.trajectories.present import present

REGISTRY = Path(__file__).parents[1] / "harness_registry"
WARM_UP = 30
"""States before the measurement: banks, templates and readings of replies are loaded by then."""


def reference_rate() -> float:
    """Thousands of small JSON round trips a second of processor time: what the machine gives just now."""
    value = {"name": "get_shipping", "arguments": {"link_id": 3, "region": "Fujian"}}
    began = time.process_time()
    for _ in range(20_000):
        json.loads(json.dumps(value, sort_keys=True))
    return 20 / (time.process_time() - began)


def verified(
    harness: Harness, gold: Gold, config: AugmentConfig, split: str, count: int, own_task: bool
) -> dict[str, object]:
    tasks = [trajectory.task for trajectory in gold.trajectories]
    failures = 0
    began = 0.0
    states = draw_states(harness, count=count + WARM_UP, run_seed=11, split=split, config=config, tasks=tasks)
    for number, state in enumerate(states):
        if number == WARM_UP:
            began = time.process_time()
        failures += len(
            verify_state(
                state, harness, config, gold.of_its_task(state) if own_task else gold.for_state(state)
            )
        )
    seconds = time.process_time() - began
    return {
        "what": "verified, own task" if own_task else "verified, every intent",
        "states": count,
        "failures": failures,
        "cpu_seconds": round(seconds, 3),
        "states_per_second": round(count / seconds, 1),
    }


def presented(
    harness: Harness, gold: Gold, config: AugmentConfig, split: str, count: int
) -> dict[str, object]:
    """Every trajectory under every state, the states sampled within the measured time."""
    messages = presentations = 0
    began = time.process_time()
    for state in draw_states(harness, count=count, run_seed=12, split=split, config=config):
        for trajectory in gold.trajectories:
            messages += len(present(trajectory, state))
            presentations += 1
    seconds = time.process_time() - began
    return {
        "what": "presented, sampling included",
        "trajectories": presentations,
        "messages": messages,
        "cpu_seconds": round(seconds, 3),
        "trajectories_per_second": round(presentations / seconds, 1),
    }


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=600)
    parser.add_argument("--split", choices=["train", "dev", "test"], default="train")
    parser.add_argument("--families", choices=["default", "full"], default="default")
    arguments = parser.parse_args()
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    config = (
        AugmentConfig(original_share=0)
        if arguments.families == "default"
        else AugmentConfig.full(arguments.split, original_share=0)
    )
    gold = expert_gold(harness, get_domain(harness.domain), arguments.split)
    before = reference_rate()
    measurements: list[Callable[[int], dict[str, object]]] = [
        lambda n: verified(harness, gold, config, arguments.split, n, True),
        lambda n: verified(harness, gold, config, arguments.split, n, False),
        lambda n: presented(harness, gold, config, arguments.split, n // 3),
    ]
    for measure in measurements:
        print(json.dumps(measure(arguments.states)), flush=True)
    peak = peak_megabytes()
    verified(harness, gold, config, arguments.split, 2 * arguments.states, True)
    memory = {"peak_megabytes": round(peak, 1), "after_twice_as_many_more": round(peak_megabytes(), 1)}
    print(json.dumps({"what": "memory", **memory}))
    rates = {"before": round(before, 1), "after": round(reference_rate(), 1)}
    print(json.dumps({"what": "reference, thousand JSON round trips a second", **rates}))


if __name__ == "__main__":
    main()
