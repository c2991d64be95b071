"""`hat export-channel` on a real, tiny model, a real store and a real ledger: what an engine's pod runs."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.models import ModelStore
from hat.models.folder import model_manifest
from hat.promotion.ledger import LedgerEntry, Proposal, promote
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.serving.channel import export_channel, read_channel
from pipelines.cli.main import app
from tests.support.tiny_model import write_tiny_model

REGISTRY = Path(__file__).parents[2] / "harness_registry"


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory, base_model: Path) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "model", base_model)


@pytest.fixture
def promoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> LedgerEntry:
    """A pair in production, in a store that has the harness and the model."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    monkeypatch.chdir(tmp_path)  # no registry above: a pod has none
    store = open_run_store()
    model = ModelStore(store).publish(tiny_model, "tiny base")
    harness = publish_harness(store, Registry(REGISTRY), "live-shop", "1.0.0")
    proposal = Proposal(
        environment="tiny",
        harness="live-shop",
        version="1.0.0",
        harness_digest=harness.digest,
        model=model.model_dump(),
        run="a-run",
        verdict_digest="0" * 64,
        evidence_digest="0" * 64,
        who="a test",
        when="2026-01-01T00:00:00+00:00",
    )
    return promote(store, proposal, expected_head=0)


def write_channels(path: Path, entry: LedgerEntry, **changes: object) -> Path:
    pair = {
        "environment": entry.environment,
        "version": entry.version,
        "harness_digest": entry.harness_digest,
        "model_digest": entry.model_digest,
        "run": entry.run,
        "sequence": entry.sequence,
        **changes,
    }
    path.write_text(yaml.safe_dump({"schema_version": 1, "channels": {"production": pair}}))
    return path


def test_an_engine_gets_the_model_and_the_name_of_the_pair_in_production(
    promoted: LedgerEntry, tmp_path: Path
) -> None:
    file = write_channels(tmp_path / "channels.yaml", promoted)
    command = ["export-channel", str(file), "--harness", "live-shop", "--target", "vllm"]
    command += ["--out", str(tmp_path / "served"), "--set", "enforce_eager=false", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    exported = json.loads(result.stdout)
    assert exported["source_digest"] == promoted.model_digest
    assert exported["model_digest"] == model_manifest(tmp_path / "served").digest
    settings = yaml.safe_load((tmp_path / "served" / "vllm.yaml").read_text())
    assert "live-shop" in str(settings["served-model-name"])
    assert settings["enforce-eager"] is False


def test_a_container_that_starts_again_finds_its_work_done(promoted: LedgerEntry, tmp_path: Path) -> None:
    file = write_channels(tmp_path / "channels.yaml", promoted)
    first = export_channel(file, "live-shop", "production", "vllm", tmp_path / "served")
    written = (tmp_path / "served" / "vllm.yaml").stat().st_mtime_ns
    assert export_channel(file, "live-shop", "production", "vllm", tmp_path / "served") == first
    assert (tmp_path / "served" / "vllm.yaml").stat().st_mtime_ns == written
    with pytest.raises(BadInput):  # the folder holds another target's files
        export_channel(file, "live-shop", "production", "triton", tmp_path / "served")


@pytest.mark.parametrize("changes", [{"model_digest": "f" * 64}, {"sequence": 2}, {"version": "1.1.0"}])
def test_a_pair_that_was_never_promoted_is_not_served(
    promoted: LedgerEntry, tmp_path: Path, changes: dict[str, object]
) -> None:
    file = write_channels(tmp_path / "channels.yaml", promoted, **changes)
    with pytest.raises(BadInput, match="no such entry"):
        export_channel(file, "live-shop", "production", "vllm", tmp_path / "served")
    assert not (tmp_path / "served").exists()


@pytest.mark.parametrize("text", ["", "channels: []", "channels: {production: 1}", "{", "- 1"])
def test_a_malformed_file_of_channels_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "channels.yaml").write_text(text)
    with pytest.raises(BadInput, match=r"channels\.yaml"):
        read_channel(tmp_path / "channels.yaml", "production")


def test_before_the_first_promotion_the_message_says_what_is_missing() -> None:
    with pytest.raises(BadInput, match="first promotion"):
        read_channel(REGISTRY / "live-shop" / "channels.yaml", "no-such-channel")
