"""How fast episodes are played in-process: one by one, batched, and batched with shared prompts.

    python -m benchmarks.rollouts [--model FOLDER] [--episodes 32] [--slots 16 32 64] [--max-new-tokens 32]

All ways play the same episodes of the same model on the same threads, one after the other in this process. "One by
one" is transformers' own `generate` on the whole conversation for each turn, as a plain evaluation loop does it.
Simplified: wall-clock of single runs; use an idle machine. An untrained model fills its turns to the bound.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.base_model import base_model
from hat.agent.episode import Episode
from hat.agent.policies.local import LocalPolicy
from hat.agent.policy import answer_requests
from hat.domains.base import Domain, get_domain
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.suites import build_suites
from hat.harness.registry import Registry
from hat.models.tokens import ChatTokens, Prompt

REGISTRY = Path(__file__).parents[1] / "harness_registry"


class UnsharedTokens(ChatTokens):
    """Prompts whose first part is computed anew for every conversation."""

    def opening(self, *args: object) -> Prompt:
        return Prompt(super().opening(*args).ids)  # type: ignore[arg-type]


def episodes(domain: Domain, count: int) -> list[Episode]:
    """Half under the original harness, half under dev variants, three to a state: as an evaluation has them."""
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    half = EvaluateConfig(live_stream_qa=count - count // 2, harness_variant_qa=count // 2).only(
        ("live_stream_qa", "harness_variant_qa")
    )
    suites = build_suites(harness, domain, half)
    return [Episode(item.state, item.task, domain, item.id) for items in suites.values() for item in items]


def play_one_by_one(policy: LocalPolicy, played: Sequence[Episode], domain: Domain) -> int:
    """Returns the number of sampled tokens."""
    import torch

    sampled = 0
    for episode in played:
        while not episode.done:
            ids = policy.tokens.conversation(episode.messages(), episode.tools, generation=True)
            output = policy.model.generate(
                torch.tensor([ids]),
                attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                max_new_tokens=policy.sampling.max_new_tokens,
                do_sample=False,
                pad_token_id=policy.tokens.stop_id,
            )
            new = output[0, len(ids) :].tolist()
            sampled += len(new)
            answer_requests(episode, episode.submit(policy.tokens.decode(new)), domain.execute)
    return sampled


def play_batched(policy: LocalPolicy, played: Sequence[Episode], domain: Domain) -> int:
    """Returns the number of sampled tokens."""
    return sum(sum(rollout.sampled) for rollout in policy.roll_out(played, domain.execute))


def measure(name: str, play: Callable[[list[Episode]], int], domain: Domain, count: int) -> dict[str, object]:
    played = episodes(domain, count)
    began, cpu_began = time.perf_counter(), time.process_time()
    sampled = play(played)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    return {
        "way": name,
        "episodes": count,
        "turns": sum(len(episode.turns) for episode in played),
        "sampled_tokens": sampled,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "sampled_tokens_per_second": round(sampled / seconds, 1),
        "episodes_per_second": round(count / seconds, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="model folder; default: the base model")
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--slots", type=int, nargs="+", default=[16, 32, 64])
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--one-by-one", type=int, default=4, help="episodes to play one by one (it is slow)")
    arguments = parser.parse_args()
    domain = get_domain("live_shop")
    policy = LocalPolicy(arguments.model or base_model(), max_new_tokens=arguments.max_new_tokens)
    play_batched(policy, episodes(domain, 2), domain)  # the first pass pays for allocations and kernels
    results = [
        measure("one by one", lambda e: play_one_by_one(policy, e, domain), domain, arguments.one_by_one)
    ]
    shared = policy.tokens
    for slots in arguments.slots:
        policy.batch_size = slots
        results.append(
            measure(
                f"batched, {slots} slots",
                lambda e: play_batched(policy, e, domain),
                domain,
                arguments.episodes,
            )
        )
    policy.tokens = UnsharedTokens(shared.tokenizer)
    results.append(
        measure(
            f"batched, {policy.batch_size} slots, prompts not shared",
            lambda e: play_batched(policy, e, domain),
            domain,
            arguments.episodes,
        )
    )
    for result in results:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
