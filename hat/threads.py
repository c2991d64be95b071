"""How the threads of one computation wait for each other: variables that a model library reads when it is loaded."""

from collections.abc import Mapping

SPIN_COUNT = 3000
"""How often a waiting thread of GNU's OpenMP looks again before it sleeps: docs/decisions/threads-spin-briefly.md."""


def thread_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What to add to an environment; nothing where it says already how threads wait."""
    if {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & set(environment):
        return {}
    return {"GOMP_SPINCOUNT": str(SPIN_COUNT)}
