"""Hand-written variant banks, divided into train, dev and test."""

from functools import cache
from importlib import resources
from typing import Any

import yaml


@cache
def bank(name: str) -> Any:
    """A bank's content; callers must not change it."""
    return yaml.safe_load(resources.files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8"))
