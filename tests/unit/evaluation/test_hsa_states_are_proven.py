"""An evaluation's own harness states pass the gates, and one that does not stops it before anything is played."""

from dataclasses import replace
from pathlib import Path

import pytest

from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.proof import prove_items
from hat.evaluation.suites import build_suites
from hat.harness.registry import Registry

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")


@pytest.mark.parametrize("split", ["dev", "test"])
def test_every_state_of_the_suites_passes_the_gates(split: str) -> None:
    # As many states as a run has by default: settings that differ a little give other states for a few seeds only.
    config = EvaluateConfig(split=split, tool_prompt_robustness=30)
    suites = build_suites(HARNESS, DOMAIN, config)
    items = [item for suite in suites.values() for item in suite]
    changed = {item.state.digest for item in items if item.state.canonical is not HARNESS}
    assert prove_items(items, HARNESS, DOMAIN, config.split) > 50
    assert changed


def test_a_state_that_asks_for_another_task_stops_the_evaluation() -> None:
    config = EvaluateConfig(harness_variant_qa=3)
    items = build_suites(HARNESS, DOMAIN, config)["harness_variant_qa"]
    state = items[0].state
    limits = replace(state.canonical.limits, max_turns=1)
    broken = replace(items[0], state=replace(state, canonical=replace(state.canonical, limits=limits)))
    with pytest.raises(BadInput, match="Nothing was evaluated"):
        prove_items([broken], HARNESS, DOMAIN, config.split)
