"""The suites that play episodes: which items each has."""

from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Domain
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.items import LARGEST_SEARCH, SEED_STRIDE, SuiteItem, impossible
from hat.evaluation.robustness import ROBUSTNESS, further_robustness_items, robustness_items
from hat.harness.model import Harness

__all__ = ["SuiteItem", "build_suites", "held_out_digests"]

OPAQUE_SHARE = 0.2
"""Share of the variants' renamings whose names say nothing: fixed, whatever share training uses."""
VARIANTS = AugmentConfig(original_share=0.0, opaque_share=OPAQUE_SHARE, partial_share=0.0)
"""What Harness-Variant QA samples its states with. A run's own augmentation settings do not enter: leaving a family
out of training must show here."""


def build_suites(harness: Harness, domain: Domain, config: EvaluateConfig) -> dict[str, list[SuiteItem]]:
    """The items of every suite that plays episodes and is asked for, in a fixed order.

    Fewer items are the first of more items.

    Raises:
        BadInput: the domain cannot make as many different tasks, or the harness as many different states.
    """
    builders = {
        "live_stream_qa": _live_stream_qa,
        "harness_variant_qa": _harness_variant_qa,
        ROBUSTNESS: robustness_items,
    }
    suites = {
        suite: build(harness, domain, config, count)
        for suite, build in builders.items()
        if (count := getattr(config, suite))
    }
    further = further_robustness_items(harness, domain, config)
    if further:
        suites.setdefault(ROBUSTNESS, []).extend(further)
    return suites


def held_out_digests(harness: Harness, domain: Domain, config: EvaluateConfig) -> dict[str, str]:
    """Digest of every task that an evaluation uses -> the suite it is in."""
    suites = build_suites(harness, domain, config)
    return {item.task.digest: suite for suite, items in suites.items() for item in items}


def _live_stream_qa(harness: Harness, domain: Domain, config: EvaluateConfig, count: int) -> list[SuiteItem]:
    """Generated questions under the harness as it is; in the test split, after those written by hand."""
    written = domain.hand_written_tasks() if config.split == "test" else []
    written = written[:count]
    generated = domain.sample_tasks(config.split, count - len(written), config.seed * SEED_STRIDE)
    state = HarnessState.original(harness)
    return [SuiteItem("live_stream_qa", task, state) for task in [*written, *generated]]


def _harness_variant_qa(
    harness: Harness, domain: Domain, config: EvaluateConfig, count: int
) -> list[SuiteItem]:
    """A few questions under each of many different harness states."""
    items: list[SuiteItem] = []
    seen = {HarnessState.original(harness).digest}
    for number in range(1, LARGEST_SEARCH):
        if len(items) >= count:
            return items[:count]
        seed = config.seed * SEED_STRIDE + number
        state = sample_state(harness, seed=seed, split=config.split, config=VARIANTS)
        if state.digest in seen:
            continue
        seen.add(state.digest)
        session = domain.sample_session(seed, config.split)
        tasks = domain.sample_tasks(config.split, config.tasks_per_state, seed, session=session)
        items.extend(SuiteItem("harness_variant_qa", task, state) for task in tasks)
    raise impossible("harness_variant_qa", f"{len(seen) - 1} different harness states", harness)
