"""How long a piece of work takes."""

import time
from collections.abc import Callable


def seconds(work: Callable[[], None]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
