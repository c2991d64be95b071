"""The key of a step's result changes with what the result depends on, and with nothing else."""

import json
from pathlib import Path

import pytest

from hat.steps.contract import contract
from hat.steps.keys import content_digest, step_key

CONFIG = {"code_version": "c1", "domain": "d", "seed": 0, "sft": {"control": "hsa"}, "evaluate": {"items": 4}}
SUBJECT = {
    "harness": "h",
    "version": "1.0.0",
    "harness_digest": "aa",
    "base": {"digest": "bb"},
    "production": None,
}


def key_of(
    folder: Path,
    config: dict = CONFIG,
    subject: dict = SUBJECT,
    data: str = "rows",
    step: str = "sft",
) -> str:
    """The key of a step whose inputs lie in a folder of their own, as kfp gives each run other paths."""
    folder.mkdir(parents=True)
    (folder / "config").write_text(json.dumps(config))
    (folder / "subject").write_text(json.dumps(subject))
    (folder / "trajectories").mkdir()
    (folder / "trajectories" / "rows.jsonl").write_text(data)
    inputs = {
        "config": str(folder / "config"),
        "subject": str(folder / "subject"),
        "trajectories_dir": str(folder / "trajectories"),
    }
    return step_key(contract(step), inputs, {})


def test_the_same_content_at_other_paths_has_the_same_key(tmp_path: Path) -> None:
    assert key_of(tmp_path / "run-1") == key_of(tmp_path / "run-2")


@pytest.mark.parametrize(
    "change",
    [
        {"config": {**CONFIG, "sft": {"control": "fixed"}}},
        {"config": {**CONFIG, "code_version": "c2"}},
        {"config": {**CONFIG, "seed": 1}},
        {"subject": {**SUBJECT, "harness_digest": "cc"}},
        {"subject": {**SUBJECT, "base": {"digest": "other"}}},
        {"data": "other rows"},
        {"step": "opd"},
    ],
)
def test_whatever_the_result_depends_on_changes_the_key(tmp_path: Path, change: dict) -> None:
    assert key_of(tmp_path / "before") != key_of(tmp_path / "after", **change)


@pytest.mark.parametrize(
    "change",
    [
        {"config": {**CONFIG, "evaluate": {"items": 150}}},
        {"subject": {**SUBJECT, "production": {"digest": "pp"}}},
    ],
)
def test_settings_of_other_steps_leave_the_key_alone(tmp_path: Path, change: dict) -> None:
    assert key_of(tmp_path / "before") == key_of(tmp_path / "after", **change)


def test_a_folder_digest_sees_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = content_digest(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    renamed = content_digest(tmp_path)
    (tmp_path / "b").write_text("y")
    assert len({before, renamed, content_digest(tmp_path)}) == 3


@pytest.mark.parametrize("field", ["ledger_head", "environment", "production"])
def test_evidence_that_names_ledger_and_environment_is_not_taken_from_a_run_against_others(
    tmp_path: Path, field: str
) -> None:
    before = key_of(tmp_path / "before", subject={**SUBJECT, field: "one"}, step="evaluate")
    assert before != key_of(tmp_path / "after", subject={**SUBJECT, field: "two"}, step="evaluate")
