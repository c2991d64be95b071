"""Time and memory of the arms, from the result files; a stage that arms share is counted in each of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hat.reproduce.arms import ARMS, SEEDS, behind
from hat.reproduce.results import Result
from hat.reproduce.targets import Target
from hat.reproduce.units import training_id

MOST_HOURS, MOST_BYTES = 3.0, 12e9
"""What one seed of the four main arms may take on 2 cores."""


@dataclass(frozen=True)
class Cost:
    """What one seed of an arm took: means over the seeds that are there, in seconds."""

    arm: str
    seeds: int
    training_wall: float
    training_cpu: float
    evaluation_wall: float
    evaluation_cpu: float
    tokens: int
    """Trained on by supervised fine-tuning, padding left out; 0 where the log does not tell."""
    peak_memory_bytes: int
    complete: bool
    """Whether every stage's file is there and tells of all its work."""


def costs_of(results: Sequence[Result], arms: Sequence[str]) -> Iterator[Cost]:
    """The cost of each arm."""
    for arm in arms:
        by_unit = {each.header.unit: each for each in results}
        seeds = sorted({each.header.seed for each in results if _is_of(each, arm)})
        of_seed = [_of_seed(by_unit, results, arm, seed) for seed in seeds]
        if not of_seed:
            continue

        def mean(values: Sequence[float]) -> float:
            return sum(values) / len(values)

        yield Cost(
            arm,
            len(of_seed),
            mean([each.training_wall for each in of_seed]),
            mean([each.training_cpu for each in of_seed]),
            mean([each.evaluation_wall for each in of_seed]),
            mean([each.evaluation_cpu for each in of_seed]),
            round(mean([each.tokens for each in of_seed])),
            max(each.peak_memory_bytes for each in of_seed),
            all(each.complete for each in of_seed),
        )


def _of_seed(by_unit: Mapping[str, Result], results: Sequence[Result], arm: str, seed: int) -> Cost:
    stages = behind(ARMS[arm].stage)
    trained = [by_unit[name] for each in stages if (name := training_id(each.name, seed)) in by_unit]
    measured = [each for each in results if _is_of(each, arm) and each.header.seed == seed]
    both = [each.header.provenance for each in (*trained, *measured)]
    return Cost(
        arm,
        1,
        sum(each.header.provenance.wall_seconds for each in trained),
        sum(each.header.provenance.cpu_seconds for each in trained),
        sum(each.header.provenance.wall_seconds for each in measured),
        sum(each.header.provenance.cpu_seconds for each in measured),
        sum(_tokens(row) for each in trained for row in each.rows if row.get("stage") == "sft"),
        max((each.peak_memory_bytes for each in both), default=0),
        len(trained) == len(stages) and not any(each.partial for each in both),
    )


def _tokens(row: Mapping[str, Any]) -> int:
    return int(row.get("training_tokens", row.get("tokens", 0)))


def _is_of(result: Result, arm: str) -> bool:
    return result.header.kind == "evaluate" and result.header.name == arm


def speed_target(results: Sequence[Result]) -> Target:
    """Whether one seed of the main arms stayed within its time and memory; the first seed that is whole decides."""
    main = [arm.name for arm in ARMS.values() if arm.seeds == SEEDS]
    what, bar = "base and one seed of the three main arms", "at most 3 h and 12 GB on 2 cores"
    by_unit = {each.header.unit: each for each in results}
    for seed in sorted({each.header.seed for each in results}):
        stages = {stage.name for arm in main for stage in behind(ARMS[arm].stage)}
        units = [by_unit.get(training_id(stage, seed)) for stage in sorted(stages)]
        evaluated = {
            arm: [each for each in results if _is_of(each, arm) and each.header.seed == seed] for arm in main
        }
        evaluated["base"] = [each for each in results if _is_of(each, "base")]
        whole = [each for each in units if each is not None]
        if len(whole) < len(units) or not all(evaluated.values()):
            continue
        measurements = {each.header.measurement for rows in evaluated.values() for each in rows}
        counted = [*whole, *(each for rows in evaluated.values() for each in rows)]
        costs = [each.header.provenance for each in counted]
        if any(each.partial for each in costs):
            continue
        hours = sum(each.wall_seconds for each in costs) / 3600
        peak = max(each.peak_memory_bytes for each in costs)
        said = f"{hours:.1f} h, {peak / 1e9:.1f} GB (seed {seed}, {len(measurements)} measurements)"
        return Target(what, bar, said, "met" if hours <= MOST_HOURS and peak <= MOST_BYTES else "missed")
    return Target(what, bar, "needs all units of one seed", "not measured")
