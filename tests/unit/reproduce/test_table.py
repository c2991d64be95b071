"""The table: made of what is there, honest about what is not."""

import re
from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.evaluation.crossed_bootstrap import clusters_of
from hat.reporting.reproduction import render_markdown, render_page
from hat.reproduce.metrics import by_component, by_version, right
from hat.reproduce.table import Table, collect
from hat.reproduce.units import units_of
from tests.support.reproduction import GOLDEN, SKILL, digest, fill, golden, items, plan_of, write_unit

ARMS = tuple(SKILL)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder, plan = tmp_path_factory.mktemp("whole"), plan_of()
    fill(folder, plan)
    return collect(folder, plan, units_of(plan, ARMS))


def test_the_golden_table() -> None:
    assert golden() == GOLDEN.read_text(encoding="utf-8"), (
        "run python -m tests.support.reproduction and read it"
    )


def test_arms_have_a_cell_with_all_their_seeds(whole: Table) -> None:
    assert tuple(whole.cells) == ARMS
    cell = whole.cells["hat"]["live_stream_qa"]
    assert (cell.estimate.seeds, cell.estimate.n, set(cell.seeds)) == (3, 40, {0, 1, 2})
    assert cell.estimate.low < cell.estimate.mean < cell.estimate.high
    assert whole.cells["base"]["live_stream_qa"].estimate.seeds == 1
    assert "general" not in whole.cells["hsa_sft"]


def test_items_are_clustered_by_augmented_state_and_by_task(whole: Table) -> None:
    assert whole.cells["hat"]["combined"].estimate.clusters == 10
    assert whole.cells["hat"]["live_stream_qa"].estimate.clusters == 40
    assert whole.cells["hat"]["general"].estimate.clusters == 40


def test_one_question_under_several_versions_is_one_cluster(tmp_path: Path) -> None:
    rows = [
        {**row, "id": f"q-{number % 20}/2.{number // 20}.0", "kind": f"2.{number // 20}.0", "families": []}
        for number, row in enumerate(items("hat", 0, "evolution"))
    ]
    keys = [score.keys for score in by_version(rows).values()]
    assert len(set(clusters_of(keys))) == 20


def test_differences_are_paired_by_item_and_seed(whole: Table) -> None:
    found = whole.differences["hat", "fixed_sft"]["combined"]
    cells = whole.cells["hat"]["combined"], whole.cells["fixed_sft"]["combined"]
    assert found.mean == pytest.approx(cells[0].estimate.mean - cells[1].estimate.mean)
    assert (found.seeds, found.n) == (3, 40)
    assert found.low > 0.3
    assert whole.differences["hat", "base"]["combined"].seeds == 3
    assert ("fixed_opd", "fixed_sft") not in whole.differences


def test_each_target_is_met_missed_or_not_measured(whole: Table) -> None:
    outcomes = {target.what: target.outcome for target in whole.targets}
    assert outcomes["fixed SFT: T2 names and layout"] == "met"
    assert outcomes["HAT: T1 Live-Stream QA"] == "met"
    assert outcomes["HAT: T1 Live-Stream QA minus T2 names and layout"] == "missed"
    assert outcomes["fixed SFT + OPD: reverse KL to the base"] == "not measured"
    assert whole.divergence["hat"].mean == pytest.approx(4 * 40 / sum(range(10, 50)))
    assert whole.divergence["hat"].low < whole.divergence["hat"].mean < whole.divergence["hat"].high
    passed = sum(row["correct"] for row in items("base", 0, "general"))
    assert (whole.retained["hat"].n, whole.retained["hat"].seeds) == (passed, 3)
    assert 0.5 < whole.retained["hat"].mean <= 1
    assert outcomes["HAT minus fixed SFT: T2 unseen families"] == "not measured"


def test_what_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    plan = plan_of("smoke")
    fill(tmp_path, plan, ("base",))
    table = collect(tmp_path, plan, units_of(plan))
    missing = dict(table.missing)
    assert missing["train-fixed_sft-0"] == "not run"
    assert missing["evaluate-hat-1-general"] == "for train-hat-1"
    assert "evaluate-base-0-general" not in missing
    assert tuple(table.cells) == ("base",)
    assert table.differences == {}


def test_a_measurement_of_another_model_is_left_out_and_said(tmp_path: Path) -> None:
    plan = plan_of("smoke")
    fill(tmp_path, plan, ("fixed_sft",))
    unit = next(each for each in units_of(plan) if each.id == "evaluate-fixed_sft-1-live_stream_qa")
    write_unit(tmp_path, plan, unit, items("fixed_sft", 1, "live_stream_qa"), start_digest=digest("other"))
    table = collect(tmp_path, plan, units_of(plan))
    assert table.cells["fixed_sft"]["live_stream_qa"].estimate.seeds == 1
    assert any("evaluate-fixed_sft-1-live_stream_qa measured another model" in each for each in table.remarks)


def test_seeds_of_different_settings_and_items_are_said(tmp_path: Path) -> None:
    plan = plan_of("smoke")
    fill(tmp_path, plan, ("fixed_sft",))
    units = {unit.id: unit for unit in units_of(plan)}
    write_unit(tmp_path, plan, units["train-fixed_sft-1"], [], recipe_digest="0" * 64)
    name = "evaluate-fixed_sft-1-harness_variant_qa"
    write_unit(tmp_path, plan, units[name], items("fixed_sft", 1, "harness_variant_qa")[:30])
    table = collect(tmp_path, plan, list(units.values()))
    assert "the trainings of fixed_sft differ in their settings from seed to seed" in table.remarks
    assert any("30 of 40 items are common" in remark for remark in table.remarks)
    assert any("1 files were made with other settings" in remark for remark in table.remarks)


def test_another_suite_or_split_or_an_empty_folder_is_refused(tmp_path: Path) -> None:
    plan = plan_of("smoke")
    with pytest.raises(BadInput, match="no such folder"):
        collect(tmp_path / "none", plan, [])
    with pytest.raises(BadInput, match="holds no result"):
        collect(tmp_path, plan, [])
    fill(tmp_path, plan, ("base",))
    with pytest.raises(BadInput, match=r"of suite smoke, split dev.*Give --suite smoke --split dev"):
        collect(tmp_path, plan_of("core"), [])


def test_costs_count_shared_stages_and_own_up_to_gaps(tmp_path: Path, whole: Table) -> None:
    costs = {cost.arm: cost for cost in whole.costs}
    assert costs["hat"].training_wall == pytest.approx(60 * (17 + 1 + 2))
    assert costs["hat"].tokens == 2_000
    assert costs["hat"].complete
    plan = plan_of()
    fill(tmp_path, plan, ("hat",), leave_out=("train-hsa_sft-1",))
    (cost,) = collect(tmp_path, plan, units_of(plan, ("hat",))).costs
    assert not cost.complete


def test_the_page_stands_alone_and_escapes_what_it_shows(tmp_path: Path) -> None:
    plan = plan_of("smoke")
    fill(tmp_path, plan, ("base", "fixed_sft"))
    path = tmp_path / "train-fixed_sft-0.jsonl"
    text = path.read_text().replace("hat reproduce --suite core", "hat <script>alert(1)</script>")
    path.write_text(text)
    table = collect(tmp_path, plan, units_of(plan))
    page = render_page(table)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=", page)
    assert page.count("<svg") >= 2 * len(table.metrics)
    places = [float(place) for place in re.findall(r'c?x[12]?="([-\d.]+)%"', page)]
    assert all(-0.01 <= place <= 100.01 for place in places)
    assert "<script" not in re.sub("`[^`]*`", "", render_markdown(table))


def test_a_macro_average_gives_every_part_the_same_weight() -> None:
    rows = [
        {**row, "kind": "unsolvable" if number < 30 else "name_noise", "correct": int(number < 30)}
        for number, row in enumerate(items("hat", 0, "live_stream_qa"))
    ]
    twins = [{**row, "correct": 1} for row in items("hat", 0, "twins", 4)]
    scores = by_component([*rows, *twins])
    weight = sum(score.weight for score in scores.values())
    mean = sum(score.value * score.weight for score in scores.values()) / weight
    assert mean == pytest.approx(2 / 3)
    assert len(scores) == 40 + 2
    versions = by_version(rows)
    assert sum(score.weight for score in versions.values()) == pytest.approx(2)
    assert len(right([{**rows[0], "correct": None}, rows[1]])) == 1
