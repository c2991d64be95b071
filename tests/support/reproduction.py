"""Result files of a reproduction with made-up scores: a folder as `hat reproduce` leaves it after some days.

``python -m tests.support.reproduction`` rewrites the golden tables after a change that moved them.
"""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hat.reporting.reproduction import render_markdown
from hat.reproduce.planning import make_plan
from hat.reproduce.results import Header, Provenance, StepCost, write_result
from hat.reproduce.table import collect
from hat.reproduce.units import Plan, Unit, recipe_digest, units_of

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "tests" / "data" / "reproduction" / "table.md"
SKILL = {"base": 0.02, "fixed_sft": 0.9, "hsa_sft": 0.86, "hat": 0.88}
UNDER_VARIANTS = {"base": 0.02, "fixed_sft": 0.2, "hsa_sft": 0.84, "hat": 0.86}


PROFILE = {"profile": "laptop", "generate": {"intent_weights": {"compare": 2}}}


def plan_of(
    suite: str = "core",
    split: str | None = None,
    profile: Mapping[str, Any] = PROFILE,
    **overrides: Any,
) -> Plan:
    """A plan that depends on no file but the harness."""
    return make_plan(suite, "live-shop@1.0.0", REPOSITORY / "harness_registry", profile, overrides, split)


def digest(name: str) -> str:
    """Something that looks like a digest."""
    return random.Random(name).randbytes(32).hex()


def write_unit(
    folder: Path, plan: Plan, unit: Unit, rows: Iterable[Mapping[str, Any]], **changes: Any
) -> Path:
    """One unit's file; ``changes`` replace fields of its header."""
    maker = unit.needs[0] if unit.needs else "base"
    header = Header(
        unit=unit.id,
        kind="train" if unit.stage else "evaluate",
        suite=plan.suite.name,
        name=unit.name,
        seed=unit.seed,
        measurement=unit.measurement.name if unit.measurement else "",
        split=plan.split,
        harness=f"{plan.harness}@{plan.version}",
        recipe_digest=recipe_digest(plan, unit),
        base_digest=digest("base"),
        start_digest=digest(maker),
        model={"schema_version": 1, "kind": "model", "digest": digest(unit.id), "base": "made up"}
        if unit.stage
        else None,
        settings={},
        provenance=Provenance(
            commit="c" * 40,
            dirty=False,
            code_version="d" * 64,
            command="hat reproduce --suite core",
            hardware="a processor, 2 cores, 24 GB",
            platform="Linux x86_64, Python 3.11.7",
            started="2026-12-01T00:00:00+00:00",
            finished="2026-12-01T00:10:00+00:00",
            attempts=1,
            wall_seconds=60 * unit.minutes,
            cpu_seconds=100 * unit.minutes,
            peak_memory_bytes=8_000_000_000,
            steps=(StepCost(name="sft" if unit.stage else "evaluation", status="ran", seconds=1.0),),
        ),
    )
    return write_result(folder, header.model_copy(update=changes), list(rows))


def items(arm: str, seed: int, measurement: str, count: int = 40) -> list[dict[str, Any]]:
    """Made-up items of a measurement: two share a task in each augmented state, none under the original harness."""
    if measurement == "divergence":
        return [{"id": f"general-{n}", "reverse_kl": 3.0 + seed, "tokens": 10 + n} for n in range(count)]
    skill = (SKILL if measurement in ("live_stream_qa", "general") else UNDER_VARIANTS)[arm]
    if (arm, measurement) == ("base", "general"):
        skill = 0.3
    draw = random.Random(f"{arm}/{seed}/{measurement}")
    rows = []
    for number in range(count):
        augmented = measurement not in ("live_stream_qa", "general")
        correct = int(draw.random() < skill)
        rows.append(
            {
                "id": f"{measurement}-{number}" + ("" if measurement == "general" else "/state"),
                "suite": measurement,
                "task_digest": digest(f"task {measurement} {number}"),
                "state_digest": digest(f"state {number // 4}") if augmented else digest("original"),
                "families": ["T1"] if augmented else [],
                "kind": f"2.{number % 2}.0" if measurement == "evolution" else "",
                "correct": correct,
                "baseline_correct": int(number % 4 == 0),
                **(
                    {"pair": f"pair-{number // 2}", "blind_correct": number % 2, "kind": "twin_C1"}
                    if measurement == "twins"
                    else {}
                ),
                **(
                    {}
                    if measurement == "general"
                    else {
                        "answerable": number % 5 > 0,
                        "refused": 1 - correct,
                        "parsed": 1,
                        "skill_loaded": 1,
                    }
                ),
            }
        )
    return rows


def fill(folder: Path, plan: Plan, arms: Iterable[str] = SKILL, leave_out: Iterable[str] = ()) -> None:
    """Files of all units of the arms but of those left out; of what this code lacks, too."""
    for unit in units_of(plan, tuple(arms)):
        if unit.id in leave_out:
            continue
        if unit.stage:
            log = {"stage": unit.stage.step, "step": 1, "loss": 1.0, "tokens": 1_000}
            write_unit(folder, plan, unit, [log, {**log, "step": 2}])
        elif unit.measurement:
            write_unit(folder, plan, unit, items(unit.name, unit.seed, unit.measurement.name))


def golden() -> str:
    """The Markdown of a folder that lacks two units."""
    with TemporaryDirectory() as place:
        folder, plan = Path(place), plan_of()
        missing = ("evaluate-hat-2-twins", "train-hsa_opd-1")
        fill(folder, plan, leave_out=missing)
        return render_markdown(collect(folder, plan, units_of(plan, tuple(SKILL))))


if __name__ == "__main__":
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text(golden(), encoding="utf-8")
