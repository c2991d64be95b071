"""How fast SFT is against a plain TRL `SFTTrainer` script on the same trajectories, threads and process.

    python -m benchmarks.sft_speed [--model FOLDER] [--trajectories 48] [--per-state 6] [--rounds 2]

Both train whole trajectories (no openings) with fp32 weights, bf16 autocast where the CPU has bf16 and no activation
checkpointing. Plain TRL gets one padded row for each trajectory, labels on the assistant's tokens, batches of 4.
Counted are the tokens of every trajectory with its prompt, without padding: the same number for both. The two take
turns for ``--rounds`` rounds after one uncounted step each; the ratio of the medians is what to quote, from an idle
machine.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.base_model import base_model
from benchmarks.timing import seconds
from hat.agent.episode import Episode
from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.harness.registry import Registry
from hat.models.precision import computes_in_bfloat16
from hat.training.packing import Pack, SegmentWeights, build_pack
from hat.training.plan import PlannedPack, plan_packs
from hat.trajectories.record import Trajectory

REGISTRY = Path(__file__).parents[1] / "harness_registry"
IGNORED = -100


def expert_trajectories(count: int) -> list[Trajectory]:
    """One session's worth, so that any of them may share a prompt."""
    domain = get_domain("live_shop")
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    tasks = domain.sample_tasks("train", count, 1, session=domain.sample_session(0, "train"))
    episodes = [Episode(HarnessState.original(harness), task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    return [episode.trajectory("expert") for episode in episodes]


def arguments(folder: str, batch: int) -> Any:
    from trl import SFTConfig

    return SFTConfig(
        output_dir=folder,
        per_device_train_batch_size=batch,
        num_train_epochs=1,
        learning_rate=1e-6,
        bf16=computes_in_bfloat16(),
        use_cpu=True,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        max_length=None,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )


def plain(model: Any, tokenizer: Any, packs: Sequence[Pack]) -> None:
    """One epoch of plain TRL: a row for each trajectory, prompt included."""
    from datasets import Dataset
    from trl import SFTTrainer

    rows = [
        {
            "input_ids": [*pack.prefix, *branch.token_ids],
            "labels": [IGNORED] * len(pack.prefix)
            + [
                token if weight else IGNORED
                for token, weight in zip(branch.token_ids, branch.weights, strict=True)
            ],
        }
        for pack in packs
        for branch in pack.branches
    ]
    with tempfile.TemporaryDirectory() as folder:
        SFTTrainer(
            model=model,
            args=arguments(folder, 4),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
        ).train()


def ours(model: Any, tokenizer: Any, planned: Sequence[PlannedPack]) -> None:
    """One epoch of the product's trainer: a pack a step."""
    from datasets import Dataset

    from hat.training.sft import PackCollator, PackTrainer

    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    with tempfile.TemporaryDirectory() as folder:
        PackTrainer(
            model=model,
            args=arguments(folder, 1),
            train_dataset=Dataset.from_dict({"pack": list(range(len(planned)))}),
            data_collator=PackCollator(planned, harness, AugmentConfig(), tokenizer, SegmentWeights()),
            processing_class=tokenizer,
        ).train()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="model folder; default: the base model")
    parser.add_argument("--trajectories", type=int, default=48)
    parser.add_argument("--per-state", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = options.model or base_model()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    steps = options.trajectories // options.per_state
    planned = plan_packs(
        expert_trajectories(options.trajectories), [None] * steps, options.per_state, 0, seed=0
    )
    state = HarnessState.original(harness)
    packs = [build_pack(one.trajectories, state, tokenizer, SegmentWeights()) for one in planned]
    tokens = sum(len(pack.prefix) + len(branch.token_ids) for pack in packs for branch in pack.branches)
    plain(model, tokenizer, packs[:1])
    ours(model, tokenizer, planned[:1])
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(options.rounds):
        times["plain"].append(seconds(lambda: plain(model, tokenizer, packs)))
        times["ours"].append(seconds(lambda: ours(model, tokenizer, planned)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(
        json.dumps(
            {
                "schema_version": 1,
                "trajectories": sum(len(pack.branches) for pack in packs),
                "tokens": tokens,
                "threads": torch.get_num_threads(),
                "seconds": times,
                "tokens_per_second": {name: tokens / value for name, value in medians.items()},
                "ratio": medians["plain"] / medians["ours"],
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
