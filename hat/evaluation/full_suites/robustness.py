"""Tool/Prompt Robustness in full: five components, of which the score is the plain mean.

Distractors, twins, unsolvable questions and faults are those of `hat.evaluation.robustness`, in other numbers.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import count as numbers

from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Domain
from hat.evaluation.config import EvaluateConfig, RobustnessConfig
from hat.evaluation.full_suites.noise import with_name_noise
from hat.evaluation.full_suites.settings import Suite, SuiteSettings
from hat.evaluation.items import LARGEST_SEARCH, SuiteItem, impossible
from hat.evaluation.robustness import further_robustness_items
from hat.harness.model import Harness

NAME = "tool_prompt_robustness_full"
ITEMS = 60
"""Items of each component; of twins, pairs."""

COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "noise": ("name_noise", "description_noise"),
    "distractors": ("distractor_tools",),
    "twins": ("twin_C1", "twin_C2", "twin_C3", "twin_C4"),
    "unsolvable": ("unsolvable",),
    "faults": ("faults",),
}
"""Component -> the kinds of items in it. Of twins a pair counts, and only when both members are right."""

DESCRIPTIONS = AugmentConfig(original_share=0.0, families=("T3", "S2"), probability=1.0)
"""Tools and skills described in the words of the split."""

_NOISE_SEEDS = 500
"""Distance of the seeds of noise from those of the variants, so that no task is drawn twice."""


def full_robustness_suite(harness: Harness, domain: Domain, settings: SuiteSettings) -> Suite:
    """The items of all components.

    Raises:
        BadInput: too few different items can be made.
    """
    each = settings.items or ITEMS
    asked = RobustnessConfig(twin_pairs=each, faults=each, distractor_tools=each, unsolvable=each)
    config = EvaluateConfig(
        split=settings.split,
        seed=settings.seed,
        tasks_per_state=settings.tasks_per_state,
        tool_prompt_robustness=0,
        robustness=asked,
    )
    further = further_robustness_items(harness, domain, config)
    sampled_with: dict[str, AugmentConfig] = {}
    noise = _noise(harness, domain, settings, each, sampled_with)
    items = [SuiteItem(NAME, i.task, i.state, i.kind, i.faults, i.pair) for i in (*noise, *further)]
    changed = {i.state.digest for i in items if i.kind in ("name_noise", "distractor_tools")}
    return Suite(NAME, tuple(items), sampled_with, frozenset(changed))


def _noise(
    harness: Harness,
    domain: Domain,
    settings: SuiteSettings,
    count: int,
    sampled_with: dict[str, AugmentConfig],
) -> list[SuiteItem]:
    """Half of the items under noisy names, half under other descriptions, few to a state."""

    def names(seed: int) -> HarnessState:
        return with_name_noise(harness, split=settings.split, seed=seed)

    def descriptions(seed: int) -> HarnessState:
        state = sample_state(harness, seed=seed, split=settings.split, config=DESCRIPTIONS)
        sampled_with[state.digest] = DESCRIPTIONS
        return state

    half = count // 2
    wanted = (("name_noise", names, half), ("description_noise", descriptions, count - half))
    items: list[SuiteItem] = []
    for place, (kind, state_of, number) in enumerate(wanted):
        seed = settings.first_seed + (place + 1) * _NOISE_SEEDS
        items += _items(kind, state_of, number, seed, harness, domain, settings)
    return items


def _items(
    kind: str,
    state_of: Callable[[int], HarnessState],
    wanted: int,
    first_seed: int,
    harness: Harness,
    domain: Domain,
    settings: SuiteSettings,
) -> Iterator[SuiteItem]:
    made = 0
    for seed in numbers(first_seed):
        if seed - first_seed > LARGEST_SEARCH:
            raise impossible(NAME, f"{made} items with {kind}", harness)
        if made >= wanted:
            return
        state = state_of(seed)
        session = domain.sample_session(seed, settings.split)
        for task in domain.sample_tasks(settings.split, settings.tasks_per_state, seed, session=session):
            if made < wanted and task.answerable:
                made += 1
                yield SuiteItem(NAME, task, state, kind)
