"""HSA-SFT: supervised fine-tuning on expert trajectories, each presented under a harness state drawn on the fly.

Full fine-tuning with fp32 weights by TRL's `SFTTrainer`, under bf16 autocast where the hardware has bf16. What differs
from plain TRL: a step's data is a pack (see `hat.training.packing`) built when it is needed, and the vocabulary is
projected only where there is a loss.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase, TrainerCallback
from trl import SFTConfig as TrlConfig
from trl import SFTTrainer

from hat.augment.config import AugmentConfig
from hat.domains.base import Domain
from hat.harness.model import Harness
from hat.models.precision import computes_in_bfloat16
from hat.training.arguments import common_arguments
from hat.training.checkpoints import SettingsInCheckpoints
from hat.training.collator import PackCollator, count_tokens, step_loss
from hat.training.config import SFTConfig
from hat.training.early_stop import HardTask, StopAtAccuracy
from hat.training.metrics import StepLog
from hat.training.packing import SegmentWeights
from hat.training.plan import PlannedPack
from hat.training.preflight import check_generation_markers, check_size
from hat.training.safety import StopOnBrokenNumbers


class PackTrainer(SFTTrainer):
    """`SFTTrainer` whose loss is the weighted mean over scored tokens of one pack."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        # Our loss is a mean already: let the Trainer average it over accumulated packs.
        self.model_accepts_loss_kwargs = False
        self.tokens: Counter[str] = Counter()
        """Of the step at hand; see `count_tokens`."""
        self._counted_step = -1

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if self.state.global_step != self._counted_step:
            self._counted_step = self.state.global_step
            self.tokens = Counter()
        self.tokens.update(count_tokens(inputs))
        # The Trainer autocasts `model.forward` alone, and our loss calls the decoder below it.
        with self.accelerator.autocast() if self.args.bf16 else _autocast(inputs["branch_ids"].device):
            return step_loss(model, inputs)

    def _set_signature_columns_if_needed(self) -> None:
        self._signature_columns = ["pack"]


def _sharded(deepspeed: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keywords of `TrainingArguments` under DeepSpeed, to which bf16 would mean the weights and not only autocast."""
    return {} if deepspeed is None else {"bf16": False, "deepspeed": dict(deepspeed)}


def _autocast(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=computes_in_bfloat16())


def train_sft(
    base: Path,
    packs: Sequence[PlannedPack],
    harness: Harness,
    augment: AugmentConfig,
    config: SFTConfig,
    *,
    work: Path,
    log: Path,
    seed: int,
    callbacks: Sequence[TrainerCallback] = (),
    resume_from: Path | None = None,
    deepspeed: Mapping[str, Any] | None = None,
    processes: int = 1,
    hard: tuple[Domain, Sequence[HardTask]] | None = None,
) -> tuple[torch.nn.Module, PreTrainedTokenizerBase]:
    """Fine-tune the model in ``base`` on ``packs``, one optimiser step for each.

    ``work`` receives the Trainer's checkpoints; ``log`` one JSON line a step. With ``deepspeed``, a configuration,
    this is one of ``processes`` processes that share the packs of each step. With ``hard`` tasks, training ends early
    at ``config.stop_accuracy`` on them.

    Raises:
        BadInput: fewer packs than one step takes, a chat template without generation markers, or a checkpoint of
            other settings.
        BrokenNumbers: a loss or gradient is not finite, or a loss is exactly 0.
    """
    check_size(len(packs), config.packs_per_step, "packs")
    tokenizer = AutoTokenizer.from_pretrained(base)
    check_generation_markers(tokenizer)
    written = SettingsInCheckpoints(
        stage="sft",
        config=config.model_dump(mode="json"),
        augment=augment.model_dump(mode="json"),
        harness=harness.digest,
        seed=seed,
        packs=len(packs),
    )
    written.check(resume_from)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    arguments = TrlConfig(
        per_device_train_batch_size=1,
        gradient_accumulation_steps=config.packs_per_step // processes,
        num_train_epochs=1,
        learning_rate=config.learning_rate,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": config.final_learning_rate_share},
        warmup_steps=math.ceil(config.warmup_share * len(packs) / config.packs_per_step),
        adam_beta2=0.99,
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        max_length=None,
        **(common_arguments(work, seed, config.checkpoint_steps) | _sharded(deepspeed)),
    )
    stop = _stop(config, model, tokenizer, hard)
    trainer = PackTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict({"pack": list(range(len(packs)))}),
        data_collator=PackCollator(
            packs, harness, augment, tokenizer, SegmentWeights(config.call_weight, config.reply_weight)
        ),
        processing_class=tokenizer,
        callbacks=[
            StepLog("sft", log, extra=lambda: {**trainer.tokens, **(stop.note() if stop else {})}),
            StopOnBrokenNumbers("sft", zero_loss_stops=True),
            written,
            *([stop] if stop else []),
            *callbacks,
        ],
    )
    trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
    return trainer.model, tokenizer


def _stop(
    config: SFTConfig,
    model: torch.nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    hard: tuple[Domain, Sequence[HardTask]] | None,
) -> StopAtAccuracy | None:
    if hard is None or not config.stop_accuracy:
        return None
    domain, tasks = hard
    return StopAtAccuracy(
        model, tokenizer, tasks, domain, accuracy=config.stop_accuracy, every=config.stop_every
    )
