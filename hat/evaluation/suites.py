"""The items of the suites that play episodes: a task, the harness state it is played under, its faults."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hat.agent.faults import FaultSchedule
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.distractors import with_distractor_tools
from hat.harness.model import Harness

_SEED_STRIDE = 100_000
"""Distance between the seeds of two evaluations, so that no two draw the same task ids."""
OPAQUE_SHARE = 0.2
"""Share of the variants' renamings whose names say nothing: fixed, whatever share training uses."""
_LARGEST_SEARCH = 4_000
"""Draws of tasks or states after which a suite is given up as impossible."""


@dataclass(frozen=True)
class SuiteItem:
    """One episode to play."""

    suite: str
    task: Task
    state: HarnessState
    kind: str = ""
    """What makes it hard, in the robustness suite."""
    faults: FaultSchedule | None = None

    @property
    def id(self) -> str:
        """Unique in the suite, and the same for every model."""
        return f"{self.task.id}/{self.kind or self.state.digest[:8]}"


def build_suites(harness: Harness, domain: Domain, config: EvaluateConfig) -> dict[str, list[SuiteItem]]:
    """The items of every suite that plays episodes and is asked for, in a fixed order.

    Fewer items are the first of more items.

    Raises:
        BadInput: the domain cannot make as many different tasks, or the harness as many different states.
    """
    builders = {
        "live_stream_qa": _live_stream_qa,
        "harness_variant_qa": _harness_variant_qa,
        "tool_prompt_robustness": _tool_prompt_robustness,
    }
    return {
        suite: build(harness, domain, config, count)
        for suite, build in builders.items()
        if (count := getattr(config, suite))
    }


def held_out_digests(harness: Harness, domain: Domain, config: EvaluateConfig) -> dict[str, str]:
    """Digest of every task that an evaluation uses -> the suite it is in."""
    suites = build_suites(harness, domain, config)
    return {item.task.digest: suite for suite, items in suites.items() for item in items}


def _live_stream_qa(harness: Harness, domain: Domain, config: EvaluateConfig, count: int) -> list[SuiteItem]:
    """Generated questions under the harness as it is; in the test split, after those written by hand."""
    written = domain.hand_written_tasks() if config.split == "test" else []
    written = written[:count]
    generated = domain.sample_tasks(config.split, count - len(written), config.seed * _SEED_STRIDE)
    state = HarnessState.original(harness)
    return [SuiteItem("live_stream_qa", task, state) for task in [*written, *generated]]


def _harness_variant_qa(
    harness: Harness, domain: Domain, config: EvaluateConfig, count: int
) -> list[SuiteItem]:
    """A few questions under each of many different harness states."""
    # The run's own augmentation settings do not enter: leaving a family out of training must show here.
    settings = AugmentConfig(original_share=0.0, opaque_share=OPAQUE_SHARE)
    items: list[SuiteItem] = []
    seen = {HarnessState.original(harness).digest}
    for number in range(1, _LARGEST_SEARCH):
        if len(items) >= count:
            return items[:count]
        seed = config.seed * _SEED_STRIDE + number
        state = sample_state(harness, seed=seed, split=config.split, config=settings)
        if state.digest in seen:
            continue
        seen.add(state.digest)
        session = domain.sample_session(seed, config.split)
        tasks = domain.sample_tasks(config.split, config.tasks_per_state, seed, session=session)
        items.extend(SuiteItem("harness_variant_qa", task, state) for task in tasks)
    raise _impossible("harness_variant_qa", f"{len(seen) - 1} different harness states", harness)


def _tool_prompt_robustness(
    harness: Harness, domain: Domain, config: EvaluateConfig, count: int
) -> list[SuiteItem]:
    """Distractor tools, questions without an answer, failing tools: in turn, so a few items have all."""
    first_seed = config.seed * _SEED_STRIDE + _SEED_STRIDE // 2
    original = HarnessState.original(harness)
    suite = "tool_prompt_robustness"

    def distracted() -> Iterator[SuiteItem]:
        for position, task in enumerate(_tasks(domain, config, first_seed, lambda task: task.answerable)):
            state = with_distractor_tools(
                original, split=config.split, seed=position // config.tasks_per_state
            )
            yield SuiteItem(suite, task, state, "distractor_tools")

    def unsolvable() -> Iterator[SuiteItem]:
        for task in _tasks(domain, config, first_seed + 1, lambda task: not task.answerable):
            yield SuiteItem(suite, task, original, "unsolvable")

    def failing() -> Iterator[SuiteItem]:
        usable = _tasks(
            domain, config, first_seed + 2, lambda task: task.answerable and bool(task.operations)
        )
        for task in usable:
            yield SuiteItem(suite, task, original, "faults", FaultSchedule(config.seed))

    in_turn = (item for three in zip(distracted(), unsolvable(), failing(), strict=False) for item in three)
    items = list(islice(in_turn, count))
    if len(items) < count:
        raise _impossible(suite, f"{len(items)} different items", harness)
    return items


def _tasks(
    domain: Domain, config: EvaluateConfig, seed: int, wanted: Callable[[Task], bool]
) -> Iterator[Task]:
    """Tasks of one kind, drawn in growing lots until the domain has no more."""
    seen: set[str] = set()
    lots: Sequence[int] = (200, 1000, _LARGEST_SEARCH)
    for lot in lots:
        try:
            tasks = domain.sample_tasks(config.split, lot, seed)
        except BadInput:
            return
        for task in tasks:
            if wanted(task) and task.digest not in seen:
                seen.add(task.digest)
                yield task


def _impossible(suite: str, made: str, harness: Harness) -> BadInput:
    return BadInput(
        f"only {made} can be made for {suite}",
        where=f"{harness.name}@{harness.version}",
        mend="Ask for fewer items in the `evaluate` settings.",
    )
