"""What bfloat16 costs or gains on this machine: one linear layer, forward, and forward with backward.

    python -m benchmarks.precision [--tokens 512] [--rounds 5]

The layer is SmolLM2-135M's largest (576 to 1536). Float32 and bfloat16 take turns; the ratios of the medians are what
to quote, from an idle machine: above 1, float32 is faster. `hat.models.precision` decides by the CPU's instructions,
and this shows whether it decides rightly here.
"""

import argparse
import json
import statistics

import torch

from benchmarks.timing import seconds
from hat.models.precision import compute_dtype
from hat.serving import machine


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    layer, rows = torch.nn.Linear(576, 1536, bias=False), torch.randn(options.tokens, 576)

    def forward(dtype: torch.dtype) -> None:
        with torch.inference_mode(), torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            layer(rows)

    def with_backward(dtype: torch.dtype) -> None:
        with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            loss = layer(rows).square().mean()
        loss.backward()

    ratios = {}
    for name, work in (("forward", forward), ("forward_and_backward", with_backward)):
        kinds = (torch.float32, torch.bfloat16)
        times: dict[torch.dtype, list[float]] = {kind: [] for kind in kinds}
        for kind in kinds:
            work(kind)  # not counted
        for _ in range(options.rounds):
            for kind in kinds:
                times[kind].append(seconds(lambda work=work, kind=kind: work(kind)))
        ratios[name] = statistics.median(times[torch.bfloat16]) / statistics.median(times[torch.float32])
    print(
        json.dumps(
            {
                "schema_version": 1,
                "tokens": options.tokens,
                "threads": torch.get_num_threads(),
                "cpu": machine.cpu_name(),
                "computes_in": str(compute_dtype()).removeprefix("torch."),
                "bfloat16_over_float32": {name: round(ratio, 2) for name, ratio in ratios.items()},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
