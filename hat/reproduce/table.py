"""The table of a reproduction, made of whatever result files are there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hat.augment.config import DIMENSIONS
from hat.errors import BadInput
from hat.evaluation.crossed_bootstrap import Estimate
from hat.reproduce.arms import ARMS, BASE
from hat.reproduce.costs import Cost, costs_of, speed_target
from hat.reproduce.evidence import Evidence, arms_in
from hat.reproduce.metrics import METRICS
from hat.reproduce.results import Result, read_results
from hat.reproduce.status import status_of
from hat.reproduce.targets import Target, check_targets
from hat.reproduce.units import Plan, Unit, training_id

COMPARED: tuple[tuple[str, str], ...] = (
    ("hat", "fixed_sft"),
    ("hsa_sft", "fixed_sft"),
    ("hat", "hsa_sft"),
    ("hat", "hsa_opd"),
    ("hat", "compute_matched"),
    ("fixed_opd", "fixed_sft"),
    ("hsa_opd", "hsa_sft"),
    ("harness_opd", "fixed_sft"),
    ("fixed_sft", BASE),
    ("hat", BASE),
    *((f"without_{dimension}", "hsa_sft") for dimension in DIMENSIONS),
)
"""Pairs of arms whose difference is shown where both were measured."""


@dataclass(frozen=True)
class Cell:
    """One arm on one metric."""

    estimate: Estimate
    seeds: Mapping[int, float]
    """Each seed's mean."""


@dataclass(frozen=True)
class Behaviour:
    """How an arm's models played, over all items of all measurements; None where there was nothing to see."""

    parsed: float | None
    skill_loaded: float | None
    refused_unsolvable: float | None
    over_refused: float | None


@dataclass(frozen=True)
class Table:
    """All that is shown. Cells and differences are by metric name; what was not measured is not in them."""

    suite: str
    split: str
    harness: str
    metrics: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Cell]]
    """Arm -> metric -> cell."""
    baselines: Mapping[str, float]
    """Metric -> what the regex baseline scores on the same items."""
    differences: Mapping[tuple[str, str], Mapping[str, Estimate]]
    behaviour: Mapping[str, Behaviour]
    versions: Mapping[str, Mapping[str, float]]
    """Arm -> later harness version -> accuracy."""
    divergence: Mapping[str, Estimate]
    """Arm -> reverse KL to the base, in nats a token."""
    retained: Mapping[str, Estimate]
    """Arm -> share of the general prompts passed by the base that it passes."""
    targets: tuple[Target, ...]
    costs: tuple[Cost, ...]
    missing: tuple[tuple[str, str], ...]
    """(unit, why) of what is not there."""
    remarks: tuple[str, ...]
    """What a reader must know about the files."""
    sources: tuple[str, ...]
    """Commits, hardware and versions behind the files."""
    commands: tuple[str, ...]


def collect(folder: Path, plan: Plan, units: Sequence[Unit]) -> Table:
    """Make the table.

    Args:
        units: what should be there.

    Raises:
        BadInput: no folder, no result in it, a malformed file, or results of another suite or split.
    """
    results = read_results(folder)
    if not results:
        mend = f"`hat reproduce --suite {plan.suite.name} --out {folder}` makes them."
        raise BadInput("holds no result", where=str(folder), mend=mend)
    for result in results:
        header = result.header
        if (header.suite, header.split) != (plan.suite.name, plan.split):
            raise BadInput(
                f"{header.unit} is of suite {header.suite}, split {header.split}, not of "
                f"{plan.suite.name}, {plan.split}",
                where=str(folder),
                mend=f"Give --suite {header.suite} --split {header.split}, and each suite its own folder.",
            )
    used, remarks = _consistent(results)
    measured = {
        (each.header.name, each.header.seed, each.header.measurement): each
        for each in used
        if each.header.kind == "evaluate"
    }
    evidence = Evidence(measured)
    arms = arms_in(used)
    cells = {arm: _cells(evidence, arm) for arm in arms}
    metrics = tuple(name for name in METRICS if any(name in cells[arm] for arm in arms))
    differences = {
        (first, second): between
        for first, second in COMPARED
        if (between := _differences(evidence, first, second, metrics))
    }
    statuses = [status_of(plan, unit, folder) for unit in units]
    remarks += _other_settings([each.unit.id for each in statuses if each.state == "other settings"])
    targets = (*check_targets(evidence), speed_target(used))
    return Table(
        suite=plan.suite.name,
        split=plan.split,
        harness=used[0].header.harness if used else f"{plan.harness}@{plan.version}",
        metrics=metrics,
        cells=cells,
        baselines={name: share for name in metrics if (share := _baseline(used, name)) is not None},
        differences=differences,
        behaviour={arm: _behaviour(used, arm) for arm in arms},
        versions={arm: by_kind for arm in arms if (by_kind := evidence.by_kind(arm, "evolution"))},
        divergence={arm: away for arm in arms if (away := evidence.divergence(arm)) is not None},
        retained={arm: kept for arm in arms if (kept := evidence.retained(arm)) is not None},
        targets=targets,
        costs=tuple(costs_of(used, arms)),
        missing=tuple(
            (each.unit.id, each.reason or "not run")
            for each in statuses
            if each.state in ("ready", "waits", "unavailable")
        ),
        remarks=(*remarks, *sorted(evidence.differing)),
        sources=_sources(used),
        commands=tuple(sorted({each.header.provenance.command for each in used})),
    )


def _consistent(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """The results that fit together, and what is to be said of the others."""
    remarks: list[str] = []
    trained = {result.header.unit: result for result in results if result.header.kind == "train"}
    used = []
    for result in results:
        header = result.header
        stage = ARMS[header.name].stage if header.kind == "evaluate" and header.name in ARMS else ""
        maker = trained.get(training_id(stage, header.seed)) if stage else None
        if maker is not None and (maker.header.model or {}).get("digest") != header.start_digest:
            remarks.append(
                f"{header.unit} measured another model than {maker.header.unit} made: it is left out"
            )
            continue
        used.append(result)
    recipes: dict[tuple[str, str, str], set[str]] = {}
    for result in used:
        header = result.header
        recipes.setdefault((header.kind, header.name, header.measurement), set()).add(header.recipe_digest)
    for (kind, name, measurement), digests in sorted(recipes.items()):
        if len(digests) > 1:
            word = f"trainings of {name}" if kind == "train" else f"measurements of {name}, {measurement},"
            remarks.append(f"the {word} differ in their settings from seed to seed")
    bases = {result.header.base_digest for result in used}
    if len(bases) > 1:
        remarks.append(f"there are {len(bases)} different base models")
    dirty = sum(result.header.provenance.dirty for result in used)
    if dirty:
        remarks.append(f"{dirty} of {len(used)} files were made with code that differs from its commit")
    return used, remarks


def _other_settings(units: Sequence[str]) -> list[str]:
    if not units:
        return []
    return [f"{len(units)} files were made with other settings than this code has now, such as {units[0]}"]


def _cells(evidence: Evidence, arm: str) -> dict[str, Cell]:
    cells = {}
    for name in METRICS:
        estimate = evidence.rate(arm, name)
        if estimate is not None:
            cells[name] = Cell(estimate, evidence.seed_means(arm, name))
    return cells


def _differences(evidence: Evidence, first: str, second: str, metrics: Sequence[str]) -> dict[str, Estimate]:
    compared = {name: evidence.difference(first, second, name) for name in metrics if name != "twins_blind"}
    return {name: estimate for name, estimate in compared.items() if estimate is not None}


def _baseline(results: Sequence[Result], metric: str) -> float | None:
    """The regex baseline on the items of one file; it has no seed, and all files have the same items."""
    if metric.startswith("twins"):
        return None
    wanted = METRICS[metric].measurement
    rows = next((each.rows for each in results if each.header.measurement == wanted), ())
    scores = [row["baseline_correct"] for row in rows if row.get("baseline_correct") is not None]
    return sum(scores) / len(scores) if scores else None


def _behaviour(results: Sequence[Result], arm: str) -> Behaviour:
    rows = [
        row
        for each in results
        if each.header.kind == "evaluate" and each.header.name == arm
        for row in each.rows
        if "answerable" in row and row["correct"] is not None
    ]

    def mean(name: str, answerable: bool | None = None) -> float | None:
        values = [
            float(row[name]) for row in rows if answerable is None or bool(row["answerable"]) is answerable
        ]
        return sum(values) / len(values) if values else None

    return Behaviour(
        mean("parsed"), mean("skill_loaded"), mean("refused", answerable=False), mean("refused", True)
    )


def _sources(results: Sequence[Result]) -> tuple[str, ...]:
    lines = set()
    for each in results:
        provenance = each.header.provenance
        commit = provenance.commit[:12] or "no commit"
        changed = " with changes" if provenance.dirty else ""
        lines.add(f"commit {commit}{changed}; {provenance.hardware}; {provenance.platform}")
    return tuple(sorted(lines))
