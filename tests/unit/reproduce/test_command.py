"""`hat reproduce --list` and `--collect` on the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hat.errors import BadInput
from pipelines.cli.main import app
from pipelines.profile import load_profile
from tests.support.reproduction import REPOSITORY, fill, plan_of


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(REPOSITORY)


def hat(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_the_list_shows_every_unit_and_what_is_left(tmp_path: Path) -> None:
    tiny = load_profile("tiny")
    fill(tmp_path, plan_of("smoke", profile={**tiny.stages, "profile": tiny.name}), ("base",))
    shown = hat("--suite", "smoke", "--list", "--out", str(tmp_path))
    assert shown.exit_code == 0, shown.output
    assert "train-hsa_sft-1" in shown.output
    assert "3 of" in shown.output
    listed = json.loads(hat("--suite", "smoke", "--list", "--json", "--out", str(tmp_path)).stdout)
    states = {each["unit"]: each["state"] for each in listed["units"]}
    assert states["train-hat-0"] == "waits"
    assert listed["minutes_left"] > 0


def test_collecting_prints_the_table_and_writes_it_beside_the_files(tmp_path: Path) -> None:
    fill(tmp_path, plan_of("smoke"), ("base", "fixed_sft"))
    shown = hat("--suite", "smoke", "--collect", str(tmp_path))
    assert shown.exit_code == 0, shown.output
    for words in ("Scores", "Differences", "Targets", "not measured", "Missing: train-hsa_sft-0"):
        assert words in shown.output
    assert (tmp_path / "table.md").read_text().startswith("# Reproduction, suite smoke")
    assert (tmp_path / "table.html").read_text().startswith("<!doctype html>")
    numbers = json.loads(hat("--suite", "smoke", "--collect", str(tmp_path), "--json").stdout)
    assert set(numbers["scores"]) == {"base", "fixed_sft"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite", "cores"), "no suite 'cores'.*core, full, smoke"),
        (("--suite", "smoke", "--arm", "x"), "no arm 'x'"),
        (("--suite", "smoke", "--only", "x"), "no unit 'x'"),
        (("--suite", "smoke", "--split", "train"), "no split 'train'"),
        (("--suite", "smoke", "--set", "sft.sped=1"), "unknown setting 'sft.sped'"),
        (("--suite", "smoke", "--harness", "no-shop"), "no harness named 'no-shop'"),
        (("--suite", "smoke", "--collect", "nowhere"), "no such folder"),
    ],
)
def test_a_wrong_word_is_said_before_any_work(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        raise hat(*arguments).exception or AssertionError("it was accepted")


def test_two_things_to_show_are_not_shown_as_one(tmp_path: Path) -> None:
    result = hat("--list", "--collect", str(tmp_path))
    assert isinstance(result.exception, BadInput)
    assert "--list and --collect" in str(result.exception)


def test_an_unknown_harness_says_what_there_is() -> None:
    result = hat("--list", "--harness", "live-shp@1.0.0")
    assert isinstance(result.exception, BadInput)
    assert "Known: live-shop" in str(result.exception)
