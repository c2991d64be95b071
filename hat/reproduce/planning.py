"""Makes the plan of a suite: settings, harness and the versions that are asked, all checked before any work."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.harness.registry import Registry, version_key
from hat.reproduce.measurements import CHAIN, suite
from hat.reproduce.units import Plan
from hat.runs.config import apply_overrides, parse_config

SOURCES = Path(__file__).resolve().parents[2]
SPLITS = ("dev", "test")


def make_plan(
    suite_name: str,
    reference: str,
    registry: Path,
    profile: Mapping[str, Any],
    overrides: Mapping[str, Any],
    split: str | None = None,
) -> Plan:
    """The plan of a suite.

    Args:
        reference: NAME or NAME@VERSION of the harness that models are trained on.
        registry: the folder of harnesses. The chain of later versions is this checkout's.
        profile: the profile's settings.
        overrides: the user's, by dotted key.
        split: whose items are asked; None: the suite's.

    Raises:
        BadInput: an unknown suite, harness, version or setting.
    """
    chosen = suite(suite_name)
    if split is not None and split not in SPLITS:
        raise BadInput(f"no split {split!r}", where="--split", mend=f"Known: {', '.join(SPLITS)}.")
    values = apply_overrides(apply_overrides(profile, chosen.settings), overrides)
    parse_config(values, where="settings")
    known = Registry(registry)
    harness = known.load(*known.parse(reference))
    return Plan(
        chosen,
        split or chosen.split,
        values,
        harness.name,
        harness.version,
        harness.digest,
        _chain(Registry(SOURCES / CHAIN), harness.name, harness.version),
    )


def _chain(chain: Registry, name: str, version: str) -> dict[str, str]:
    """Version -> digest of the later versions; empty where there is no chain."""
    if not chain.root.is_dir() or name not in chain.names():
        return {}
    later = [each for each in chain.versions(name) if version_key(each) > version_key(version)]
    return {each: chain.load(name, each).digest for each in later}
