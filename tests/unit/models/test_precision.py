"""What a model is computed in, by what the hardware has."""

import pytest
import torch

from hat.models.precision import compute_dtype, computes_in_bfloat16


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, torch.float32),
        ({"avx512_f": True, "avx512_bf16": False}, torch.float32),
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": True}, torch.bfloat16),
        ({"neon": True}, torch.float32),
    ],
)
def test_a_cpu_without_bfloat16_instructions_computes_in_float32(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert compute_dtype() == expected


@pytest.mark.parametrize("has", [True, False])
def test_an_accelerator_decides_where_there_is_one(monkeypatch: pytest.MonkeyPatch, has: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has)
    assert computes_in_bfloat16() is has
