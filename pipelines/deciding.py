"""Deciding again: what a run does whose pair passed the gate while another went into production."""

from collections.abc import Callable

from rich.console import Console

from hat.runs.record import RunRecord

DECISIONS = 3
"""Runs in all, the first included; a fourth promotion in between is for a person to look at."""


def until_decided(start: Callable[[], RunRecord], console: Console) -> RunRecord:
    """Call ``start`` until its run is not the loser of a race, at most `DECISIONS` times; the last record.

    Each call is a run of its own: it is compared with what is in production then, and takes from the journal what
    an earlier one trained.
    """
    record = start()
    for _ in range(DECISIONS - 1):
        if not record.lost_race:
            break
        console.print(
            "STALE_BASELINE: another promotion came first; deciding again against it", highlight=False
        )
        record = start()
    return record
