"""`hat gate` on every bundled evidence folder, and what `hat production` and `hat rollback` say of a ledger."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hat.errors import BadInput, EnvironmentFailure
from hat.promotion import ledger
from hat.promotion.archive import archive_evidence, evidence_place
from hat.promotion.evidence import load_evidence
from hat.promotion.ledger import Proposal
from hat.storage import open_store
from pipelines.cli.main import app

EVIDENCE = Path(__file__).parents[2] / "data" / "evidence"
EXIT_STATUS = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}


def documented() -> dict[str, tuple[str, str]]:
    """Folder -> verdict and reason, from the table in the README beside the folders."""
    rows = [line.split("|") for line in (EVIDENCE / "README.md").read_text().splitlines() if "| `" in line]
    return {cells[1].strip(" `"): (cells[2].strip(), cells[3]) for cells in rows}


def hat(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_the_table_names_every_folder() -> None:
    assert set(documented()) == {path.name for path in EVIDENCE.iterdir() if path.is_dir()} - {"__pycache__"}


@pytest.mark.parametrize(("folder", "documented"), documented().items(), ids=list(documented()))
def test_hat_gate_gives_the_documented_verdict_and_reason(folder: str, documented: tuple[str, str]) -> None:
    word, reason = documented
    result = hat("gate", str(EVIDENCE / "gate.yaml"), str(EVIDENCE / folder), "--json")
    verdict = json.loads(result.stdout)
    assert (verdict["verdict"], result.exit_code) == (word, EXIT_STATUS[word])
    named = {code for code in {entry["code"] for entry in verdict["reasons"]} if code in reason}
    if word != "PASS":
        deciding = {one["code"] for one in verdict["reasons"] if one["outcome"] in ("failed", "unproven")}
        assert named & deciding, f"{sorted(deciding)} where {reason} is documented"


def test_the_verdict_is_read_by_people_too() -> None:
    folder = str(EVIDENCE / "slice-collapse")
    result = hat("gate", str(EVIDENCE / "gate.yaml"), folder, "--slices")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "FAIL"
    assert lines[1].split()[:2] == ["failed", "SLICE_REGRESSION"]
    assert "(soft)" in result.stdout
    row = next(line for line in lines if "intent=returns" in line and "decides" in line)
    assert "-33.3" in row


def test_a_wrong_policy_is_one_message_and_exit_status_two(tmp_path: Path) -> None:
    policy = tmp_path / "gate.yaml"
    policy.write_text((EVIDENCE / "gate.yaml").read_text().replace("at_least: 70", "at_leest: 70", 1))
    command = [sys.executable, "-m", "pipelines.cli", "gate", str(policy), str(EVIDENCE / "sound")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "did you mean 'at_least'?" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store with two promotions of live-shop on the laptop."""
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    store = open_store(str(tmp_path / "store"))
    for index, version in enumerate(("1.0.0", "1.1.0")):
        proposal = Proposal(
            environment="laptop",
            harness="live-shop",
            version=version,
            harness_digest=f"harness {version}",
            model={"digest": f"model-{index}"},
            run=f"run-{index}",
            verdict_digest="v",
            evidence_digest=f"evidence-{index}" * 4,
            who=f"user-{index}",
            when=f"2026-01-0{index + 1}T00:00:00+00:00",
            reason=f"reason {index}",
        )
        ledger.promote(store, proposal, expected_head=index)
    return store


def test_the_history_shows_who_what_when_why_and_the_digest_of_the_evidence(store: Any) -> None:
    said = hat("production", "live-shop", "--history").stdout
    for index, version in enumerate(("1.0.0", "1.1.0")):
        for shown in (f"live-shop@{version}", f"model-{index}", f"by user-{index}", f"run-{index}"):
            assert shown in said
        assert f"why: reason {index}" in said
        assert f"evidence-{index}" * 4 in said
        assert f"2026-01-0{index + 1}T00:00:00" in said


def test_a_harness_without_production_is_said_to_have_none(store: Any) -> None:
    nothing = "live-shop: nothing is in production in h20\nenvironments with a ledger: laptop\n"
    said = hat("production", "live-shop", "--environment", "h20")
    assert (said.exit_code, said.stdout) == (0, nothing)
    said = hat("production", "live-shop", "--environment", "h20", "--history")
    assert (said.exit_code, said.stdout) == (0, nothing)


@pytest.mark.parametrize(
    "command",
    [("production",), ("rollback", "--reason", "r"), ("serve", "--engine", "http://127.0.0.1:9")],
    ids=lambda command: command[0],
)
def test_an_unknown_harness_is_bad_input_that_names_those_known(
    store: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "registry" / "desk" / "versions").mkdir(parents=True)
    result = hat(*command, "live-shp", "--registry", str(tmp_path / "registry"))
    assert isinstance(result.exception, BadInput)
    assert "no harness named 'live-shp'. Did you mean 'live-shop'? Known: desk, live-shop." in str(
        result.exception
    )


def test_the_ledger_alone_is_enough_to_know_a_harness(store: Any, tmp_path: Path) -> None:
    result = hat("production", "live-shop", "--registry", str(tmp_path / "nowhere"))
    assert result.exit_code == 0
    assert "live-shop@1.1.0" in result.stdout


def test_one_command_returns_to_the_previous_pair_and_keeps_both(store: Any) -> None:
    result = hat("rollback", "live-shop", "--reason", "viewers complained", "--json")
    assert result.exit_code == 0
    assert "warning: the model model-0 is not in the store" in result.stderr
    entry = json.loads(result.stdout)
    assert (entry["kind"], entry["version"], entry["model_digest"]) == ("rollback", "1.0.0", "model-0")
    assert entry["who"]
    document = json.loads(hat("production", "live-shop", "--json").stdout)
    assert (document["version"], document["model_digest"], document["sequence"]) == ("1.0.0", "model-0", 3)
    history = json.loads(hat("production", "live-shop", "--history", "--json").stdout)
    assert [one["model_digest"] for one in history] == ["model-0", "model-1", "model-0"]
    assert history[2]["reason"] == "viewers complained"
    said = hat("production", "live-shop", "--history").stdout
    assert "rollback" in said
    assert "why: viewers complained" in said


def test_a_promotion_can_be_judged_again_from_the_digest_that_the_ledger_names(store: Any) -> None:
    evidence = load_evidence(EVIDENCE / "no-production")
    archive_evidence(store, EVIDENCE / "no-production", evidence)
    again = hat("gate", str(EVIDENCE / "gate.yaml"), evidence.digest, "--json")
    verdict = json.loads(again.stdout)
    assert (verdict["verdict"], verdict["evidence_digest"]) == ("PASS", evidence.digest)
    absent = hat("gate", str(EVIDENCE / "gate.yaml"), "0" * 64)
    assert "no such evidence is kept" in str(absent.exception)


def test_other_evidence_in_the_place_of_what_the_ledger_names_is_not_judged(store: Any) -> None:
    named, other = (load_evidence(EVIDENCE / name) for name in ("slice-collapse", "no-production"))
    store.put_tree(EVIDENCE / "no-production", evidence_place(named.digest), other.names)
    judged = hat("gate", str(EVIDENCE / "gate.yaml"), named.digest)
    assert isinstance(judged.exception, EnvironmentFailure)
    assert f"other evidence is kept in its place, with the digest {other.digest}" in str(judged.exception)


def test_a_rollback_without_a_reason_changes_nothing(store: Any) -> None:
    assert hat("rollback", "live-shop").exit_code == 2
    blank = hat("rollback", "live-shop", "--reason", " ")
    assert "needs a reason" in str(blank.exception)
    assert len(ledger.history(store, "laptop", "live-shop")) == 2
