"""Units of work: which there are, in which order, and where each stands."""

from pathlib import Path

import pytest

from hat.augment.config import DIMENSIONS
from hat.errors import BadInput
from hat.evaluation.full_suites.registry import FULL_SUITES
from hat.reproduce.arms import ARMS, STAGES, behind, lineage
from hat.reproduce.measurements import SUITES
from hat.reproduce.status import minutes_left, status_of
from hat.reproduce.units import config_of, evaluation_of, recipe_digest, units_of
from hat.runs.config import RunConfig
from tests.support.reproduction import fill, plan_of, write_unit


def test_the_arms_are_those_of_the_comparison() -> None:
    seeds = {name: len(arm.seeds) for name, arm in ARMS.items()}
    assert [name for name, count in seeds.items() if count == 3] == ["fixed_sft", "hsa_sft", "hat"]
    assert {"base", "fixed_opd", "hsa_opd", "harness_opd", "compute_matched"} <= set(seeds)
    assert sum(name.startswith("without_") for name in seeds) == len(DIMENSIONS) == 5
    assert [stage.step for stage in lineage("hat")] == ["sft", "opd", "rl"]
    assert [stage.name for stage in behind("harness_opd")] == ["fixed_sft", "hsa_sft", "harness_opd"]


def test_a_unit_takes_at_most_75_minutes() -> None:
    assert max(stage.minutes for stage in STAGES.values()) <= 75
    assert max(each.minutes for suite in SUITES.values() for each in suite.measurements) <= 75


@pytest.mark.parametrize("suite", SUITES)
def test_every_unit_comes_once_and_after_what_it_needs(suite: str) -> None:
    units = units_of(plan_of(suite), tuple(ARMS))
    seen: set[str] = set()
    for unit in units:
        assert unit.id not in seen
        assert set(unit.needs) <= seen
        seen.add(unit.id)


def test_stages_that_arms_share_are_trained_once() -> None:
    units = units_of(plan_of(), ("fixed_sft", "fixed_opd", "hat", "hsa_opd"), (0,))
    trained = [unit.id for unit in units if unit.stage]
    assert sorted(trained) == [
        "train-fixed_opd-0",
        "train-fixed_sft-0",
        "train-hat-0",
        "train-hsa_opd-0",
        "train-hsa_sft-0",
    ]


def test_measurements_name_suites_that_exist() -> None:
    named = {each.full_suite for suite in SUITES.values() for each in suite.measurements if each.full_suite}
    assert named <= set(FULL_SUITES)
    assert not [
        unit for unit in units_of(plan_of("full")) if unit.measurement and "chain" in unit.unavailable
    ]


def test_a_teacher_is_trained_before_its_student() -> None:
    units = {unit.id: unit for unit in units_of(plan_of(), ("harness_opd",), (0,))}
    student = units["train-harness_opd-0"]
    assert student.needs == ("train-fixed_sft-0", "train-hsa_sft-0")
    taught = config_of(plan_of(), student, teacher="a" * 64).opd
    assert (taught.prompts, taught.teacher) == ("harness", "a" * 64)


def test_seeds_arms_and_units_can_be_chosen() -> None:
    plan = plan_of()
    assert {unit.seed for unit in units_of(plan, ("hat",), (5,))} == {5}
    assert {unit.seed for unit in units_of(plan, ("base",), (5,))} == {0}
    (only,) = units_of(plan, only=("evaluate-hat-1-twins",))
    assert (only.needs, only.measurement is not None) == (("train-hat-1",), True)
    with pytest.raises(BadInput, match=r"no unit 'train-hat-7'.*--list"):
        units_of(plan, only=("train-hat-7",))
    with pytest.raises(BadInput, match=r"no arm 'hatt'.*Known: base"):
        units_of(plan, ("hatt",))


def test_core_measures_general_ability_of_three_arms_only() -> None:
    measured = {
        unit.name for unit in units_of(plan_of()) if unit.measurement and unit.measurement.name == "general"
    }
    assert measured == {"base", "fixed_sft", "hat"}


def test_core_asks_as_many_items_as_it_promises() -> None:
    plan = plan_of()
    asked = {each.name: (each, evaluation_of(plan, each)) for each in plan.suite.measurements}
    assert asked["live_stream_qa"][1].live_stream_qa == 200
    assert asked["combined"][0].count == 200
    assert asked["twins"][1].robustness.twin_pairs == 60
    assert asked["evolution"][0].count == 40
    assert {evaluation.split for _, evaluation in asked.values()} == {"test"}


def test_settings_of_a_unit_are_those_of_all_stages_behind_it() -> None:
    plan = plan_of(**{"sft.learning_rate": 1e-4})
    units = {unit.id: unit for unit in units_of(plan)}
    fixed = config_of(plan, units["train-fixed_opd-0"])
    assert (fixed.sft.control, fixed.sft.learning_rate, fixed.seed) == ("fixed", 1e-4, 0)
    without = config_of(plan, units["train-without_tools-0"])
    left = set(RunConfig().augment.families) - set(DIMENSIONS["tools"])
    assert set(without.augment.families) == left
    assert config_of(plan, units["train-hat-2"]).seed == 2


def test_no_item_of_the_suite_may_be_trained_on() -> None:
    plan = plan_of()
    asked = config_of(plan, units_of(plan, ("hat",), (0,))[0]).evaluate
    assert (asked.split, asked.live_stream_qa, asked.robustness.twin_pairs) == ("test", 200, 60)


def test_an_ablation_that_would_leave_out_nothing_says_so() -> None:
    plan = plan_of(**{"augment.families": ["S1", "P3", "K1"]})
    units = {unit.id: unit for unit in units_of(plan, tuple(ARMS), (0,))}
    assert "nothing to leave out" in units["train-without_tools-0"].unavailable
    assert "nothing to leave out" in units["evaluate-without_tools-0-twins"].unavailable
    assert not units["train-without_prompt-0"].unavailable


def test_seeds_share_a_recipe_and_other_settings_have_another() -> None:
    plan, other = plan_of(), plan_of(**{"sft.learning_rate": 1e-4})
    units = {unit.id: unit for unit in units_of(plan)}
    of = {name: recipe_digest(plan, unit) for name, unit in units.items()}
    assert of["train-hat-0"] == of["train-hat-1"]
    assert of["train-fixed_sft-0"] != of["train-hsa_sft-0"]
    assert of["evaluate-hat-0-twins"] == of["evaluate-hat-1-twins"]
    assert recipe_digest(other, units["train-hat-0"]) != of["train-hat-0"]
    assert recipe_digest(other, units["evaluate-hat-0-twins"]) != of["evaluate-hat-0-twins"]
    assert recipe_digest(plan_of(split="dev"), units["evaluate-hat-0-twins"]) != of["evaluate-hat-0-twins"]


def test_where_units_stand_is_read_off_the_files(tmp_path: Path) -> None:
    plan = plan_of("smoke")
    units = {unit.id: unit for unit in units_of(plan)}

    def state(name: str) -> tuple[str, str]:
        status = status_of(plan, units[name], tmp_path)
        return status.state, status.reason

    assert state("train-hsa_sft-0") == ("ready", "")
    assert state("train-hsa_opd-0") == ("waits", "for train-hsa_sft-0")
    write_unit(tmp_path, plan, units["train-hsa_sft-0"], [])
    assert state("train-hsa_sft-0") == ("done", "")
    assert state("train-hsa_opd-0") == ("ready", "")
    write_unit(tmp_path, plan, units["train-hsa_sft-0"], [], recipe_digest="0" * 64)
    assert state("train-hsa_sft-0") == ("other settings", "its file was made with other settings")


def test_the_estimate_follows_the_pace_of_what_is_done(tmp_path: Path) -> None:
    plan = plan_of()
    units = [unit for unit in units_of(plan, ("fixed_sft",), (0,)) if not unit.unavailable]
    before = minutes_left([status_of(plan, unit, tmp_path) for unit in units])
    assert before == pytest.approx(sum(unit.minutes for unit in units))
    first = units[0]
    write_unit(tmp_path, plan, first, [])
    path = tmp_path / f"{first.id}.jsonl"
    slow = path.read_text().replace(
        f'"wall_seconds":{60 * first.minutes}', f'"wall_seconds":{120 * first.minutes}'
    )
    path.write_text(slow)
    after = minutes_left([status_of(plan, unit, tmp_path) for unit in units])
    assert after == pytest.approx(2 * (before - first.minutes))


def test_a_file_that_is_none_or_is_misnamed_is_refused(tmp_path: Path) -> None:
    plan = plan_of("smoke")
    fill(tmp_path, plan, ("base",))
    unit = units_of(plan, ("base",))[0]
    path = tmp_path / f"{unit.id}.jsonl"
    path.rename(tmp_path / "train-hat-0.jsonl")
    hat = units_of(plan, only=("train-hat-0",))[0]
    with pytest.raises(BadInput, match="holds the result of unit evaluate-base-0"):
        status_of(plan, hat, tmp_path)
    (tmp_path / "train-hat-0.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match=r"not a result of `hat reproduce`.*Delete it"):
        status_of(plan, hat, tmp_path)
