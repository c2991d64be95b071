"""Which suites and settings this code has: what is not there is listed as such, never left out in silence."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec

from hat.runs.config import known_keys


def full_suites() -> frozenset[str]:
    """Names of the full suites."""
    if find_spec("hat.evaluation.full_suites") is None:
        return frozenset()
    return frozenset(import_module("hat.evaluation.full_suites.registry").FULL_SUITES)


def measures_divergence() -> bool:
    """Whether a model can be compared with its base on general prompts."""
    return find_spec("hat.evaluation.general_ability") is not None


def unknown_settings(keys: Iterable[str]) -> list[str]:
    """The dotted keys that no stage knows."""
    return sorted(set(keys) - set(known_keys()))
