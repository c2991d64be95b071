"""The full suites by name."""

from collections.abc import Callable, Mapping
from functools import partial

from hat.domains.base import Domain
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.full_suites import evolution, robustness, variants
from hat.evaluation.full_suites.settings import Suite, SuiteSettings
from hat.evaluation.suites import build_suites
from hat.harness.model import Harness

LIVE_STREAM_ITEMS = 200
Builder = Callable[[Harness, Domain, SuiteSettings], Suite]


def _live_stream_qa(harness: Harness, domain: Domain, settings: SuiteSettings) -> Suite:
    """More items of the suite of that name: those of a run come first."""
    config = EvaluateConfig(
        split=settings.split, seed=settings.seed, live_stream_qa=settings.items or LIVE_STREAM_ITEMS
    ).only(("live_stream_qa",))
    return Suite("live_stream_qa", tuple(build_suites(harness, domain, config)["live_stream_qa"]))


FULL_SUITES: Mapping[str, Builder] = {
    "live_stream_qa": _live_stream_qa,
    **{name: partial(variants.variant_suite, name) for name in (variants.UNCHANGED, *variants.PARTS)},
    robustness.NAME: robustness.full_robustness_suite,
    evolution.NAME: evolution.evolution_suite,
}
"""Name -> what draws its items. `hat.evaluation.full_suites.variants.TEST_ONLY` names those of the test split only."""


def build_suite(name: str, harness: Harness, domain: Domain, settings: SuiteSettings) -> Suite:
    """The items of a suite.

    Raises:
        BadInput: an unknown suite, a suite that is kept for the test split, or items that cannot be made.
    """
    if name not in FULL_SUITES:
        raise BadInput(f"no suite {name!r}", where="evaluate", mend=f"Known: {', '.join(FULL_SUITES)}.")
    return FULL_SUITES[name](harness, domain, settings)
