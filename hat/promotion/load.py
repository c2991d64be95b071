"""Whether the load that latency evidence states is the load that its own times show.

A closed loop that overlaps, a Poisson process that is slower than stated or suspiciously regular: the percentiles of
such a measurement are not those of the load that the policy asks for.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from hat.evaluation.statistics import normal_quantile
from hat.promotion.documents import LatencyDocument
from hat.promotion.reasons import Reason, ReasonCode

_CLOCK_SECONDS = 0.005
"""How far times that were rounded, or read one after the other, may overlap."""
_FALSE_ALARM = 1e-4
"""The chance that honest arrivals are refused, of each of the two tests."""
_FEWEST_GAPS = 20
"""Below this many arrivals their process cannot be told; percentiles need more anyway."""


def load_faults(document: LatencyDocument) -> list[Reason]:
    """Findings about requests whose times contradict the stated arrival process."""
    if document.arrival == "closed-loop":
        return list(_closed_loop(document))
    arrivals = sorted(request.scheduled for request in document.requests)
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    if len(gaps) < _FEWEST_GAPS or document.rate is None:
        return []
    return list(_poisson(gaps, document.rate))


def in_flight(document: LatencyDocument) -> int:
    """The most requests that were between their scheduled send and their end at one time."""
    events = [
        (at, change)
        for request in document.requests
        if request.finished is not None
        for at, change in ((request.scheduled + _CLOCK_SECONDS, 1), (request.finished, -1))
        if request.finished > request.scheduled + _CLOCK_SECONDS
    ]
    most = now = 0
    for _, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def _closed_loop(document: LatencyDocument) -> Iterable[Reason]:
    most = in_flight(document)
    if document.concurrency is not None and most > document.concurrency:
        message = f"the requests' times show {most} in flight at once, stated are {document.concurrency}"
        yield _inconsistent(message)


def _poisson(gaps: Sequence[float], rate: float) -> Iterable[Reason]:
    mean = math.fsum(gaps) / len(gaps)
    if mean <= 0:
        yield _inconsistent("all requests were scheduled at the same time: no Poisson arrivals")
        return
    # The time of n arrivals is Gamma distributed; Wilson and Hilferty's cube root makes it normal (PNAS 1931).
    n = len(gaps)
    upper = n * (1 - 1 / (9 * n) + normal_quantile(1 - _FALSE_ALARM) / (3 * math.sqrt(n))) ** 3 / rate
    if math.fsum(gaps) > upper:
        yield _inconsistent(f"the requests were scheduled at {1 / mean:.3g} a second, stated are {rate:g}")
    # Distance of the gaps from an exponential distribution of their own mean (Lilliefors, JASA 1969; its critical
    # values lie below Kolmogorov's, which are used here: fewer false alarms).
    distance = max(
        max((index + 1) / n - value, value - index / n)
        for index, value in enumerate(1 - math.exp(-gap / mean) for gap in sorted(gaps))
    )
    if distance > math.sqrt(-math.log(_FALSE_ALARM / 2) / (2 * n)):
        yield _inconsistent(
            "the gaps between the scheduled sends are not those of Poisson arrivals "
            f"(Kolmogorov-Smirnov distance {distance:.2f})"
        )


def _inconsistent(message: str) -> Reason:
    return Reason(ReasonCode.INCONSISTENT, "latency.load", message)
