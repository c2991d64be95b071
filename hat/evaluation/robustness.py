"""The items of Tool/Prompt Robustness: distractor tools, questions without an answer, failing tools, twins."""

from collections.abc import Iterator
from itertools import islice

from hat.agent.faults import ALL_FAULTS, REPORTED_FAULTS, FaultSchedule
from hat.agent.policy import Policy
from hat.augment.state import HarnessState
from hat.augment.twins.base import twins_of
from hat.augment.twins.make import make_twins
from hat.domains.base import Domain
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.distractors import with_distractor_tools
from hat.evaluation.items import SEED_STRIDE, SuiteItem, draw_tasks, impossible
from hat.harness.model import Harness

ROBUSTNESS = "tool_prompt_robustness"


def robustness_items(harness: Harness, domain: Domain, config: EvaluateConfig, count: int) -> list[SuiteItem]:
    """Distractor tools, questions without an answer, failing tools: in turn, so a few items have all.

    A domain that is `always_answerable` has no questions without an answer.
    """
    first_seed = config.seed * SEED_STRIDE + SEED_STRIDE // 2
    streams = [
        _distracted(harness, domain, config, first_seed),
        _unsolvable(harness, domain, config, first_seed + 1),
        _failing(harness, domain, config, first_seed + 2, REPORTED_FAULTS),
    ]
    if getattr(domain, "always_answerable", False):
        del streams[1]
    in_turn = (item for turn in zip(*streams, strict=False) for item in turn)
    return _exactly(count, in_turn, ROBUSTNESS, harness)


def further_robustness_items(harness: Harness, domain: Domain, config: EvaluateConfig) -> list[SuiteItem]:
    """The items of each sub-suite that is asked for by its own number."""
    first_seed = config.seed * SEED_STRIDE + SEED_STRIDE // 2 + 10
    asked = config.robustness
    streams = (
        ("distractor_tools", asked.distractor_tools, _distracted(harness, domain, config, first_seed)),
        ("unsolvable", asked.unsolvable, _unsolvable(harness, domain, config, first_seed + 1)),
        ("faults", asked.faults, _failing(harness, domain, config, first_seed + 2, ALL_FAULTS)),
    )
    items = [
        item
        for name, count, stream in streams
        for item in _exactly(count, stream, f"{ROBUSTNESS}, {name}", harness)
    ]
    if asked.twin_pairs:
        twins = make_twins(
            HarnessState.original(harness),
            domain,
            split=config.split,
            count=asked.twin_pairs,
            seed=first_seed + 3,
        )
        items += [
            SuiteItem(ROBUSTNESS, member.task, member.state, f"twin_{pair.kind}", pair=pair.id)
            for pair in twins.pairs
            for _, member in pair.members
        ]
    return items


def _distracted(harness: Harness, domain: Domain, config: EvaluateConfig, seed: int) -> Iterator[SuiteItem]:
    original = HarnessState.original(harness)
    for position, task in enumerate(draw_tasks(domain, config, seed, lambda task: task.answerable)):
        state = with_distractor_tools(original, split=config.split, seed=position // config.tasks_per_state)
        yield SuiteItem(ROBUSTNESS, task, state, "distractor_tools")


def _unsolvable(harness: Harness, domain: Domain, config: EvaluateConfig, seed: int) -> Iterator[SuiteItem]:
    original = HarnessState.original(harness)
    for task in draw_tasks(domain, config, seed, lambda task: not task.answerable):
        yield SuiteItem(ROBUSTNESS, task, original, "unsolvable")


def _failing(
    harness: Harness, domain: Domain, config: EvaluateConfig, seed: int, kinds: tuple[str, ...]
) -> Iterator[SuiteItem]:
    original = HarnessState.original(harness)
    schedule = FaultSchedule(config.seed, kinds=kinds)
    for task in draw_tasks(domain, config, seed, lambda task: task.answerable and bool(task.operations)):
        yield SuiteItem(ROBUSTNESS, task, original, "faults", schedule)


def _exactly(count: int, stream: Iterator[SuiteItem], what: str, harness: Harness) -> list[SuiteItem]:
    items = list(islice(stream, count))
    if len(items) < count:
        raise impossible(what, f"{len(items)} different items", harness)
    return items


def blind_policy(harness: Harness, domain: Domain) -> Policy:
    """The policy that ignores the harness it is given: what stands beside every twin result."""
    return twins_of(domain).blind(harness)
