"""Rounds a model folder's weights to bfloat16, file by file, without building the model."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from hat.errors import BadInput, EnvironmentFailure
from hat.files import read_json


def round_weights(source: Path, target: Path) -> None:
    """Write ``source``'s safetensors files to the folder ``target``, floating-point tensors as bfloat16.

    Engines that load the fp32 folder as bfloat16 round the same way (to nearest, ties to even), so what they
    compute does not change.

    Raises:
        BadInput: a weight is not finite, or not once it is rounded.
        EnvironmentFailure: the disk is full or ``target`` cannot be written.
    """
    total = 0
    for shard in sorted(source.glob("*.safetensors")):
        tensors = _rounded(shard)
        total += sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        try:
            save_file(tensors, target / shard.name, metadata={"format": "pt"})
        except SafetensorError as error:  # how a failed write is reported
            raise EnvironmentFailure(
                f"the weights cannot be written: {error}",
                where=str(target / shard.name),
                mend="Free space, check the folder's rights and run again.",
            ) from error
    for index in sorted(source.glob("*.safetensors.index.json")):
        document: dict[str, Any] = read_json(index)
        document["metadata"] = {**document.get("metadata", {}), "total_size": total}
        (target / index.name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _rounded(shard: Path) -> dict[str, torch.Tensor]:
    tensors = {}
    with safe_open(shard, framework="pt") as opened:
        for name in opened.keys():  # noqa: SIM118  not a mapping
            tensor = opened.get_tensor(name)
            if tensor.is_floating_point():
                tensor = tensor.to(torch.bfloat16).contiguous()
                if not torch.isfinite(tensor).all():
                    raise BadInput(
                        f"the weight {name} holds values that are not finite",
                        where=str(shard),
                        mend="The training diverged: look at its log and train again.",
                    )
            tensors[name] = tensor
    return tensors
