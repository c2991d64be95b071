"""What all three trainers are told alike."""

from pathlib import Path
from typing import Any

import torch

from hat.models.precision import computes_in_bfloat16
from hat.training.safety import REQUIRED_ARGUMENTS


def common_arguments(work: Path, seed: int, checkpoint_steps: int) -> dict[str, Any]:
    """Keywords of `TrainingArguments`: checkpoints into ``work`` every ``checkpoint_steps`` steps (0: none)."""
    return {
        "output_dir": str(work),
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "bf16": computes_in_bfloat16(),
        "use_cpu": not torch.cuda.is_available(),
        "gradient_checkpointing": False,
        "dataloader_pin_memory": False,
        "save_strategy": "steps" if checkpoint_steps else "no",
        "save_steps": checkpoint_steps or 1,
        "save_total_limit": 2,
        "report_to": [],
        "disable_tqdm": True,
        "seed": seed,
        "data_seed": seed,
        **REQUIRED_ARGUMENTS,
    }
