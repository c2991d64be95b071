"""Harness-Variant QA in parts: names only, layout only, both, and what is kept for the test split.

In the parts that may be compared (`PAIRED`) the n-th state of each has the same session and the same questions, so
that their scores, and those under the unchanged harness, are compared question by question.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, repeat

from hat.augment.config import TEST_ONLY_LAYOUTS, TRAINING_LAYOUTS, AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Domain
from hat.errors import BadInput
from hat.evaluation.full_suites.settings import Suite, SuiteSettings
from hat.evaluation.items import LARGEST_SEARCH, SuiteItem, impossible
from hat.evaluation.suites import OPAQUE_SHARE
from hat.harness.model import Harness, Layout

ITEMS = 200
NAMES = ("S1", "T1", "T2")
LAYOUT = ("T4", "P1", "P3", "K1")
_ORDER_ONLY = ("S4", "T4")
"""What K4 and XML stand beside: alone, each of them gives one state, and fifty are needed."""


@dataclass(frozen=True)
class Part:
    """One kind of states: every family named is in each of them."""

    kind: str
    families: tuple[str, ...]
    layouts: tuple[Layout, ...] = TRAINING_LAYOUTS

    @property
    def settings(self) -> AugmentConfig:
        return AugmentConfig(
            original_share=0.0,
            families=self.families,
            probability=1.0,
            opaque_share=OPAQUE_SHARE,
            partial_share=0.0,
            layouts=self.layouts,
        )


PARTS: Mapping[str, tuple[Part, ...]] = {
    "names_only": (Part("", NAMES),),
    "layout_only": (Part("", LAYOUT),),
    "combined": (Part("", (*NAMES, *LAYOUT)),),
    "test_only_compositions": (Part("T2+P3", ("T2", "P3")), Part("S8+P1", ("S8", "P1"))),
    "test_only_families": (
        Part("T5", ("T5", *_ORDER_ONLY)),
        Part("K4", ("K4", *_ORDER_ONLY)),
        Part("xml", ("P3", *_ORDER_ONLY), TEST_ONLY_LAYOUTS),
    ),
}
"""Suite -> its parts, one after the other from state to state."""

UNCHANGED = "variant_reference"
"""The paired suites' questions under the unchanged harness."""
PAIRED = (UNCHANGED, "names_only", "layout_only", "combined")
TEST_ONLY = ("test_only_compositions", "test_only_families")


def variant_suite(name: str, harness: Harness, domain: Domain, settings: SuiteSettings) -> Suite:
    """The items of a part of Harness-Variant QA.

    Raises:
        BadInput: what is kept for the test split is asked for in another, or too few different states or questions
            can be made.
    """
    if name in TEST_ONLY and settings.split != "test":
        raise BadInput(
            f"suite {name} is kept for the test split, not {settings.split}",
            where="evaluate",
            mend="Develop on names_only, layout_only and combined; ask for it once, with split=test.",
        )
    count = settings.items or ITEMS
    sampled_with: dict[str, AugmentConfig] = {}
    items: list[SuiteItem] = []
    for place, (kind, state) in enumerate(_states(name, harness, settings, sampled_with)):
        seed = settings.first_seed + place
        session = domain.sample_session(seed, settings.split)
        tasks = domain.sample_tasks(settings.split, settings.tasks_per_state, seed, session=session)
        items += [SuiteItem(name, task, state, kind) for task in tasks]
        if len(items) >= count:
            used = {item.state.digest for item in items[:count]}
            return Suite(
                name,
                tuple(items[:count]),
                {digest: sampled_with[digest] for digest in used & sampled_with.keys()},
            )
    raise impossible(name, f"{len(items)} items", harness)


def _states(
    name: str, harness: Harness, settings: SuiteSettings, sampled_with: dict[str, AugmentConfig]
) -> Iterator[tuple[str, HarnessState]]:
    """(kind, state) from state to state, no state twice; for the unchanged harness the same one again and again."""
    original = HarnessState.original(harness)
    if name == UNCHANGED:
        yield from repeat(("", original))
        return
    seen = {original.digest}
    number = 0
    for part in cycle(PARTS[name]):
        while True:
            number += 1
            if number > LARGEST_SEARCH:
                return
            state = sample_state(
                harness, seed=settings.first_seed + number, split=settings.split, config=part.settings
            )
            if set(state.families) == set(part.families) and state.digest not in seen:
                break
        seen.add(state.digest)
        sampled_with[state.digest] = part.settings
        yield part.kind, state
