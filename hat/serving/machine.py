"""What a latency depends on besides the program: the processor, and who else uses it."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_LISTING_SECONDS = 60.0
_LARGEST_OTHERS_SHARE = 0.1
"""Of our cores' time: what an idle machine's own services stay below."""


@dataclass(frozen=True)
class Usage:
    """Processor time until one moment, in seconds: the clock, this process's, and the machine's (if told)."""

    clock: float
    own: float
    machine: float | None


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name() -> str:
    """The processor's model name, or an empty string where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "")


def hardware() -> str:
    """What a served model runs on here, as gate policies name it: the accelerator's name by NVIDIA's tool, or `cpu`."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_LISTING_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return "cpu"
    return ", ".join(sorted({line.strip() for line in result.stdout.splitlines() if line.strip()})) or "cpu"


def load_average() -> float:
    """Mean number of running tasks of the last minute."""
    return os.getloadavg()[0]


def usage_now() -> Usage:
    """Processor time used until now; see `others_share`."""
    times = os.times()
    return Usage(time.monotonic(), times.user + times.system, _machine_seconds())


def others_share(before: Usage, after: Usage) -> float | None:
    """Processor time that others used in between, as a share of our cores' time; None where not told.

    Above 1 where the machine has more cores than this process may use.
    """
    elapsed = after.clock - before.clock
    if before.machine is None or after.machine is None or elapsed <= 0:
        return None
    others = (after.machine - before.machine) - (after.own - before.own)
    return max(0.0, others / (elapsed * cores()))


def is_shared(share: float | None, load_at_start: float) -> bool:
    """Whether other work shared the processor; where its use is not told, the load average decides."""
    return load_at_start > cores() if share is None else share > _LARGEST_OTHERS_SHARE


def _machine_seconds() -> float | None:
    """Busy time of all processors since the machine started (proc(5): /proc/stat), time stolen from it included."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
        user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = map(int, first[1:9])
    except (OSError, ValueError, IndexError):
        return None
    ticks = user + nice + system + interrupts + soft_interrupts + stolen
    return ticks / os.sysconf("SC_CLK_TCK")
