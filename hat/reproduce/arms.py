"""Which models are compared, and by which training stages each is made: plain data.

A stage makes one model a seed from the base model or from an earlier stage's model; stages are shared between arms, so
that the fixed SFT of two arms is trained once. To add an arm, add its stages and one line to `ARMS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hat.augment.config import DIMENSIONS
from hat.errors import BadInput
from hat.runs.config import RunConfig

Step = Literal["sft", "opd", "rl"]
SEEDS = (0, 1, 2)
"""Training seeds of the main arms."""
ONE_SEED = (0,)
BASE = "base"
NOT_TRAINED_YET = "0" * 64
"""Stands for a teacher's digest where settings are only compared."""


@dataclass(frozen=True)
class Stage:
    """One training stage."""

    name: str
    step: Step
    """Which step of the pipeline trains it."""
    start: str = ""
    """Stage whose model it goes on from; empty: the base model."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the profile's, by dotted key."""
    teacher: str = ""
    """Stage whose model teaches, where it is not the base model; its digest becomes `opd.teacher`."""
    minutes: float = 17.0
    """Expected on 2 cores with the default base model."""


@dataclass(frozen=True)
class Arm:
    """One row of the table."""

    name: str
    title: str
    stage: str
    """Whose model is evaluated; empty: the base model."""
    seeds: tuple[int, ...]


def _without(dimension: str) -> Stage:
    settings: dict[str, Any] = {"augment.without": [dimension]}
    if dimension == "hooks":  # simulated faults are of that dimension, too
        settings |= {"generate.fault_share": 0.0, "rl.fault_share": 0.0}
    return Stage(f"without_{dimension}", "sft", settings=settings)


STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage("fixed_sft", "sft", settings={"sft.control": "fixed"}),
        Stage("hsa_sft", "sft"),
        Stage("fixed_opd", "opd", start="fixed_sft", minutes=1),
        Stage("hsa_opd", "opd", start="hsa_sft", minutes=1),
        Stage("hat", "rl", start="hsa_opd", minutes=2),
        Stage(
            "harness_opd",
            "opd",
            start="fixed_sft",
            settings={"opd.prompts": "harness"},
            teacher="hsa_sft",
            minutes=2,
        ),
        Stage("compute_matched", "rl", start="hsa_opd", settings={"rl.method": "rejection_sft"}, minutes=2),
        *(_without(dimension) for dimension in DIMENSIONS),
    )
}

ARMS: Mapping[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm(BASE, "base", "", ONE_SEED),
        Arm("fixed_sft", "fixed SFT", "fixed_sft", SEEDS),
        Arm("hsa_sft", "HSA-SFT", "hsa_sft", SEEDS),
        Arm("hat", "HAT", "hat", SEEDS),
        Arm("fixed_opd", "fixed SFT + OPD", "fixed_opd", ONE_SEED),
        Arm("hsa_opd", "HSA-SFT + OPD", "hsa_opd", ONE_SEED),
        Arm("harness_opd", "fixed SFT + harness-OPD", "harness_opd", ONE_SEED),
        Arm("compute_matched", "compute-matched (rejection-sampled SFT for RL)", "compute_matched", ONE_SEED),
        *(
            Arm(
                f"without_{dimension}",
                f"HSA-SFT without {dimension}",
                f"without_{dimension}",
                ONE_SEED,
            )
            for dimension in DIMENSIONS
        ),
    )
}


def arm(name: str) -> Arm:
    """The arm of that name. Raises `BadInput`, naming those that exist."""
    if name not in ARMS:
        raise BadInput(f"no arm {name!r}", where="--arm", mend=f"Known: {', '.join(ARMS)}.")
    return ARMS[name]


def lineage(stage: str) -> list[Stage]:
    """The stages that a model goes through, the first one trained first; empty for the base model."""
    found: list[Stage] = []
    while stage:
        found.insert(0, STAGES[stage])
        stage = STAGES[stage].start
    return found


def behind(stage: str) -> list[Stage]:
    """All stages that must be trained for a model, itself last: its lineage and its teachers'."""
    found: dict[str, Stage] = {}
    for each in lineage(stage):
        for needed in (*(behind(each.teacher) if each.teacher else ()), each):
            found.setdefault(needed.name, needed)
    return list(found.values())


def settings_of(stage: Stage) -> dict[str, Any]:
    """What a stage replaces of a run's settings, by dotted key."""
    taught = {"opd.teacher": NOT_TRAINED_YET} if stage.teacher else {}
    return {**stage.settings, **taught}


def unavailable(stage: str, config: RunConfig) -> str:
    """Why a model would not be what its name says under these settings; empty where it is."""
    for each in behind(stage):
        for dimension in each.settings.get("augment.without", ()):
            if not set(DIMENSIONS[dimension]) & set(config.augment.families):
                families = ", ".join(DIMENSIONS[dimension])
                return f"the settings augment with none of {families}: nothing to leave out"
    return ""
