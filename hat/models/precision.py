"""In which numbers a model computes on this machine: bfloat16 where the hardware has it, else float32.

Without instructions for it, PyTorch multiplies bfloat16 matrices on a CPU in plain loops, several times slower than
float32 and, backwards, more than ten times. What is stored and exported does not depend on this.
"""

from typing import Any


def computes_in_bfloat16() -> bool:
    """Whether this machine, its accelerator or else its CPU, has instructions for bfloat16."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # Of CPUs that are not x86 nothing was measured: float32 is right everywhere.
    has = torch.cpu.get_capabilities()
    return any(bool(has.get(name)) for name in ("avx512_bf16", "amx_bf16"))


def compute_dtype() -> Any:
    """The `torch.dtype` to decode in."""
    import torch

    return torch.bfloat16 if computes_in_bfloat16() else torch.float32
