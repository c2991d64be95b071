"""What it costs that threads sleep at once when they wait for each other, or spin: decoding, alone and two at a time.

    python -m benchmarks.waiting [--tokens 60] [--rows 20] [--rounds 3]

Each measurement is a process of its own (GNU's OpenMP reads `GOMP_SPINCOUNT` once), with all threads, and gives the
milliseconds of one decoding step. The settings take turns; quote the ratios, from an idle machine. `hat.threads` says
which setting the product chooses.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

from benchmarks.base_model import base_model
from hat.serving import machine
from hat.threads import SPIN_COUNT

COUNTS = (0, SPIN_COUNT, 10_000)


def measure(rows: int, tokens: int) -> float:
    """Milliseconds of one decoding step of ``rows`` conversations, in this process."""
    from benchmarks.timing import seconds
    from hat.agent.policies.local import load_for_decoding
    from hat.models.generation import Sampling, converse
    from hat.models.tokens import Prompt

    model, _ = load_for_decoding(base_model())
    prompts = [Prompt((*range(1000, 1450), 2000 + row), 450) for row in range(rows)]

    def decode(count: int) -> None:
        sampling = Sampling(max_new_tokens=count)
        converse(model, prompts, lambda index, sample: None, stop_ids=[], sampling=sampling)

    decode(tokens)  # not counted
    return 1000 * (seconds(lambda: decode(tokens)) - seconds(lambda: decode(1))) / (tokens - 1)


def side_by_side(processes: int, spins: int, rows: int, tokens: int) -> float:
    """The mean of ``processes`` that measure at the same time."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment["GOMP_SPINCOUNT"] = str(spins)
    command = [sys.executable, "-m", "benchmarks.waiting", "--child", f"--rows={rows}", f"--tokens={tokens}"]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(processes)
    ]
    return statistics.mean(float(process.communicate()[0]) for process in running)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(measure(options.rows, options.tokens))
        return
    base_model()
    times: dict[tuple[int, int], list[float]] = {}
    for _ in range(options.rounds):
        for processes in (1, 2):
            for spins in COUNTS:
                step = side_by_side(processes, spins, options.rows, options.tokens)
                times.setdefault((processes, spins), []).append(step)
    medians = {key: statistics.median(values) for key, values in times.items()}
    document = {
        "schema_version": 1,
        "rows": options.rows,
        "rounds": options.rounds,
        "cpu": machine.cpu_name(),
        "cores": machine.cores(),
        "milliseconds_a_step": [
            {
                "processes": processes,
                "spins": spins,
                "median": round(median, 1),
                "over_sleeping_at_once": round(median / medians[processes, 0], 2),
            }
            for (processes, spins), median in sorted(medians.items())
        ],
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
