"""The units of work of a suite: one training stage or one measurement of one seed each, in an order that works."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.files import canonical_json, sha256_text
from hat.reproduce.arms import (
    ARMS,
    BASE,
    ONE_SEED,
    Arm,
    Stage,
    arm,
    behind,
    lineage,
    settings_of,
    unavailable,
)
from hat.reproduce.measurements import CHAIN, Measurement, Suite
from hat.runs.config import RunConfig, apply_overrides, parse_config
from hat.steps.contract import contract


@dataclass(frozen=True)
class Unit:
    """One unit: it leaves one result file, named by its id."""

    id: str
    name: str
    """The stage that it trains, or the arm that it measures."""
    seed: int
    stage: Stage | None = None
    measurement: Measurement | None = None
    needs: tuple[str, ...] = ()
    """The units that train the model it works on and, where it has one of its own, the teacher's; empty: the base."""
    unavailable: str = ""
    """Why it cannot be run; empty where it can."""
    minutes: float = 0.0
    """Expected on 2 cores with the suite's model."""


@dataclass(frozen=True)
class Plan:
    """A suite with all that decides its results."""

    suite: Suite
    split: str
    values: Mapping[str, Any]
    """The profile's settings with the suite's and the user's."""
    harness: str
    version: str
    digest: str
    """Of the harness's files."""
    chain: Mapping[str, str]
    """Later version of the harness -> digest of its files."""

    @cached_property
    def config(self) -> RunConfig:
        """The settings before any stage's own. Raises `BadInput`."""
        return parse_config(dict(self.values), where="settings")


def training_id(stage: str, seed: int) -> str:
    """The unit that trains a stage's model."""
    return f"train-{stage}-{seed}"


def units_of(
    plan: Plan, arms: Sequence[str] = (), seeds: Sequence[int] = (), only: Sequence[str] = ()
) -> list[Unit]:
    """The units of the chosen arms and seeds, each after those that it needs.

    Args:
        arms: empty: those of the suite.
        seeds: empty: each arm's own. A seed that an arm does not have is added to it.
        only: ids of units; empty: all.

    Raises:
        BadInput: no such arm or unit.
    """
    chosen = [arm(name) for name in arms or plan.suite.arms or ARMS]
    config = plan.config
    found: dict[str, Unit] = {}
    for seed, each in _in_order(plan, chosen, seeds):
        for unit in _of_arm(plan, config, each, seed):
            found.setdefault(unit.id, unit)
    unknown = [name for name in only if name not in found]
    if unknown:
        raise BadInput(
            f"no unit {unknown[0]!r}", where="--only", mend="`hat reproduce --list` shows the units."
        )
    return [unit for unit in found.values() if not only or unit.id in only]


def _in_order(plan: Plan, arms: Sequence[Arm], seeds: Sequence[int]) -> list[tuple[int, Arm]]:
    """The main arms seed by seed, so that a table is complete, if wide, after the first; then the others."""
    pairs = [
        (seed, each)
        for each in arms
        for seed in (each.seeds if each.name == BASE else tuple(seeds) or plan.suite.seeds or each.seeds)
    ]
    return sorted(pairs, key=lambda pair: (pair[1].seeds == ONE_SEED and pair[1].name != BASE, pair[0]))


def _of_arm(plan: Plan, config: RunConfig, each: Arm, seed: int) -> Iterator[Unit]:
    for stage in behind(each.stage):
        needs = tuple(training_id(needed, seed) for needed in (stage.start, stage.teacher) if needed)
        reason = unavailable(stage.name, config)
        minutes = stage.minutes * plan.suite.pace
        yield Unit(training_id(stage.name, seed), stage.name, seed, stage, None, needs, reason, minutes)
    for measurement in plan.suite.measurements:
        if measurement.arms and each.name not in measurement.arms:
            continue
        needs = (training_id(each.stage, seed),) if each.stage else ()
        reason = unavailable(each.stage, config) or _cannot_be_asked(plan, measurement)
        name = f"evaluate-{each.name}-{seed}-{measurement.name}"
        minutes = measurement.minutes * plan.suite.pace
        yield Unit(name, each.name, seed, None, measurement, needs, reason, minutes)


def _cannot_be_asked(plan: Plan, measurement: Measurement) -> str:
    """Why a measurement cannot be made; empty where it can."""
    if measurement.needs_chain and not plan.chain:
        return f"there is no later version of {plan.harness} in {CHAIN}"
    return ""


def config_of(plan: Plan, unit: Unit, code_version: str = "", teacher: str = "") -> RunConfig:
    """The settings of one unit: those of every stage that its model goes through, and its seed.

    Args:
        teacher: digest of the model that teaches, where the unit has one of its own.

    Raises:
        BadInput: a stage's settings are wrong.
    """
    stages = lineage(unit.stage.name if unit.stage else ARMS[unit.name].stage)
    values = dict(plan.values)
    for stage in stages:
        values = apply_overrides(values, settings_of(stage))
    if teacher:
        values = apply_overrides(values, {"opd.teacher": teacher})
    # The step `validate` sees to it that no task trained on is an item of any of the suite's measurements.
    evaluate = {**values.get("evaluate", {}), **_all_items(plan.suite), "split": plan.split}
    values = {**values, "seed": unit.seed, "code_version": code_version, "evaluate": evaluate}
    return parse_config(values, where=unit.id)


def evaluation_of(plan: Plan, measurement: Measurement) -> EvaluateConfig:
    """The settings that ask for a measurement's items and for no others."""
    nothing = plan.config.evaluate.only(()).model_dump()
    return EvaluateConfig.model_validate({**nothing, "split": plan.split, **measurement.items})


def _all_items(suite: Suite) -> dict[str, Any]:
    """The items of every measurement that an evaluation has, as fields of `EvaluateConfig`."""
    items: dict[str, Any] = {}
    for measurement in suite.measurements:
        for name, count in measurement.items.items():
            items[name] = {**items.get(name, {}), **count} if isinstance(count, Mapping) else count
    return items


def recipe_digest(plan: Plan, unit: Unit) -> str:
    """SHA-256 of the settings that decide a unit's result, its seed left out: equal for all seeds of one recipe."""
    return sha256_text(canonical_json(_recipe(plan, unit)))


def _recipe(plan: Plan, unit: Unit) -> dict[str, Any]:
    if unit.measurement is not None:
        return {
            "model": _stage_recipe(plan, ARMS[unit.name].stage, unit.seed),
            "evaluate": evaluation_of(plan, unit.measurement).model_dump(mode="json"),
            "full_suite": [unit.measurement.full_suite, unit.measurement.count],
            "divergence": unit.measurement.divergence,
            "chain": dict(plan.chain) if unit.measurement.needs_chain else {},
        }
    return _stage_recipe(plan, unit.name, unit.seed)


def _stage_recipe(plan: Plan, stage: str, seed: int) -> dict[str, Any]:
    """The stages behind a model with the settings that each reads."""
    recipe: dict[str, Any] = {
        "base_model": plan.config.base_model,
        "harness": plan.digest,
        "stages": [],
    }
    for each in lineage(stage):
        taught = _stage_recipe(plan, each.teacher, seed) if each.teacher else None
        recipe["stages"].append([each.step, _read_by(plan, each, seed), taught])
    return recipe


def _read_by(plan: Plan, stage: Stage, seed: int) -> dict[str, Any]:
    """The settings that a stage reads, its seed left out."""
    values = config_of(plan, Unit("", stage.name, seed, stage)).model_dump(mode="json")
    return {name: values[name] for name in sorted({*contract(stage.step).sections, "generate"})}
