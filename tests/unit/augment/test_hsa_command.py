"""`hat augment`: the same digests twice, the JSON contract of `verify`, and the side-by-side view."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hat.augment.config import AugmentConfig
from hat.augment.plan import expert_gold
from hat.augment.sampler import sample_state
from hat.augment.side_by_side import side_by_side
from hat.augment.state import HarnessState
from hat.augment.verify import GATES
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.harness.registry import Registry
from pipelines.cli.main import app

REGISTRY = Path(__file__).resolve().parents[3] / "harness_registry"


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["augment", *words, "--registry", str(REGISTRY)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_folder_is_proven_again_and_a_second_run_gives_the_same_digests(split: str, tmp_path: Path) -> None:
    for name in ("first", "second"):
        run(
            "live-shop@1.0.0", "--seed", "7", "--count", "12", "--split", split, "--out", str(tmp_path / name)
        )
    first, second = (read_json(tmp_path / name / "states.json") for name in ("first", "second"))
    assert first == second
    report = json.loads(run("verify", str(tmp_path / "first"), "--json"))
    assert (report["states"], report["passed"], report["failed"]) == (12, 12, 0)
    assert report["gates"] == {gate: {"passed": 12, "failed": 0} for gate in GATES}
    assert set(report["gates"]) == {"G1", "G2", "G3", "G4", "G5", "G6"}
    assert report["failures"] == []
    assert sum(report["families"].values()) >= 12


def test_only_states_of_the_same_settings_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("kept")
    (tmp_path / "file").write_text("kept")
    states, same = (
        str(tmp_path / "states"),
        ("live-shop@1.0.0", "--seed", "7", "--count", "1", "--family", "T1"),
    )
    for _ in range(2):
        run(*same, "--out", states)
    before = (tmp_path / "states" / "states.json").read_bytes()
    for arguments, message in (
        ((*same, "--out", str(tmp_path / "mine")), "not an empty folder"),
        ((*same, "--out", str(tmp_path / "file")), "not an empty folder"),
        ((*same, "--family", "T2", "--out", states), "states of other settings"),
        ((*same, "--seed", "8", "--out", states), "states of other seeds"),
        ((*same, "--count", "2", "--out", states), "states of other"),
        (("live-shop@1.1.0", *same[1:], "--out", states), "states of another harness"),
    ):
        result = CliRunner().invoke(app, ["augment", *arguments, "--registry", str(REGISTRY)])
        assert isinstance(result.exception, BadInput), arguments
        assert message in str(result.exception)
    assert (tmp_path / "states" / "states.json").read_bytes() == before
    assert (tmp_path / "mine" / "notes.txt").read_text() == "kept"


@pytest.mark.parametrize(
    ("command", "usage", "foreign"),
    [("verify", "hat augment verify", "--seed"), ("show", "hat augment show", "--count")],
)
def test_each_command_has_its_own_help(command: str, usage: str, foreign: str) -> None:
    said = CliRunner().invoke(app, ["augment", command, "--help"], prog_name="hat").stdout
    assert usage in said
    assert foreign not in said
    assert CliRunner().invoke(app, ["augment", command, ".", "--count", "3"]).exit_code == 2


def test_both_sides_show_the_same_trajectory_and_mark_what_differs() -> None:
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    trajectory = next(
        t
        for t in expert_gold(harness, get_domain("live_shop"), "train", 13).trajectories
        if t.task.intent == "shipping"
    )
    config = AugmentConfig(original_share=0, probability=1, families=("T1",))
    state = sample_state(harness, seed=1, split="train", config=config)
    pairs = {pair.title: pair for pair in side_by_side(HarnessState.original(harness), state, trajectory)}
    assert pairs["viewer"].same
    assert not pairs["tools"].same
    left = "".join(piece.text for piece in pairs["tools"].original)
    right = "".join(piece.text for piece in pairs["tools"].augmented)
    assert "get_shipping" in left
    assert state.codec.tool("get_shipping") in right
    assert "get_shipping" not in right


def test_the_page_is_self_contained_and_escapes_what_it_shows(tmp_path: Path) -> None:
    page = tmp_path / "state.html"
    run("show", "live-shop@1.0.0", "--seed", "3", "--family", "T1", "--intent", "price", "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert "<mark>" in text
    assert "<tool_call>" not in text
    assert "&lt;tool_call&gt;" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_terminal_view_names_the_families() -> None:
    shown = run("show", "live-shop@1.0.0", "--seed", "3", "--family", "T1", "--intent", "price")
    assert "families T1; seed 3" in shown
    assert "original" in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": []}, "holds no states"),
        ({"states": [{"seed": 1}]}, "lacks its seed, split or digest"),
        ({"config": None}, "config"),
        ({"config": {"families": ["ZZ"]}}, "config.families"),
    ],
)
def test_a_folder_that_proves_nothing_is_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    run("live-shop@1.0.0", "--seed", "7", "--count", "1", "--out", str(tmp_path))
    document = read_json(tmp_path / "states.json")
    write_json_atomic(tmp_path / "states.json", {**document, **change})
    result = CliRunner().invoke(app, ["augment", "verify", str(tmp_path), "--registry", str(REGISTRY)])
    assert isinstance(result.exception, BadInput)
    assert message in str(result.exception)
    assert "states.json" in str(result.exception)
