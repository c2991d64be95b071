"""Export and latency as the pipeline runs them, and `hat export`, on a real, tiny model and a real store."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

import hat.steps.export as export_step
import hat.steps.latency as latency_step
from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry
from hat.models import ModelRef, ModelStore
from hat.models.folder import model_manifest
from hat.promotion.documents import EvidenceSubject, SubjectModels
from hat.promotion.evidence import load_evidence, write_subject
from hat.promotion.latency import latency_reasons
from hat.promotion.policy import parse_policies
from hat.promotion.reasons import ReasonCode
from hat.runs.config import RunConfig
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.serving.config import LatencyConfig
from hat.serving.document import ExportDocument
from hat.steps.subject import Subject
from pipelines.cli.main import app
from tests.support.tiny_model import write_tiny_model

REGISTRY = Path(__file__).parents[2] / "harness_registry"
GATE = (REGISTRY / "live-shop" / "gate.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory, base_model: Path) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "model", base_model)


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> dict[str, str]:
    """A store with the harness and a model, and what both steps read."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    store = open_run_store()
    model = ModelStore(store).publish(tiny_model, "tiny base", notes="random weights")
    model.write(tmp_path / "model.json")
    harness = publish_harness(store, Registry(REGISTRY), "live-shop", "1.0.0")
    config = RunConfig(domain="live_shop", latency=LatencyConfig(max_new_tokens=4), profile="tiny")
    config.write(tmp_path / "config.json")
    Subject(
        harness="live-shop",
        version="1.0.0",
        harness_digest=harness.digest,
        environment="tiny",
        mode="auto",
        plan="train",
        gate_policy=GATE,
        base=model.model_dump(),
    ).write(tmp_path / "subject.json")
    return {
        name: str(tmp_path / f"{name.removesuffix('_in')}.json") for name in ("config", "subject", "model_in")
    }


@pytest.fixture
def exported(given: dict[str, str], tmp_path: Path) -> ExportDocument:
    export_step.run(**given, export_out=str(tmp_path / "export.json"))
    return ExportDocument.read(tmp_path / "export.json")


def test_the_export_names_what_is_in_the_store(
    given: dict[str, str], exported: ExportDocument, tiny_model: Path, tmp_path: Path
) -> None:
    store = open_run_store()
    source = ModelRef.read(Path(given["model_in"]))
    assert exported.source == source
    assert exported.model.digest != source.digest
    assert exported.model.notes == "random weights; weights rounded to bfloat16 for serving"
    assert exported.harness is not None
    assert (exported.harness.name, exported.harness.version) == ("live-shop", "1.0.0")
    AutoModelForCausalLM.from_pretrained(ModelStore(store).materialise(exported.model))
    names = {file.path for key in (exported.vllm, exported.triton) for file in store.tree(key).files}  # type: ignore[union-attr]
    assert names == {
        "README.md",
        "vllm.yaml",
        "model_repository/live-shop/config.pbtxt",
        "model_repository/live-shop/1/model.json",
    }
    card = store.get(f"{exported.vllm}/README.md").decode()
    assert source.digest in card
    assert "GRPO" in card
    # Nothing of the work is left behind.
    assert list((tmp_path / "home" / "cache" / "export").iterdir()) == []


def test_exporting_again_stores_nothing_new(
    given: dict[str, str], exported: ExportDocument, tmp_path: Path
) -> None:
    keys = open_run_store().list()
    export_step.run(**given, export_out=str(tmp_path / "again.json"))
    assert ExportDocument.read(tmp_path / "again.json") == exported
    assert open_run_store().list() == keys


def test_a_full_disk_leaves_no_export(
    given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every copy of a file goes to /dev/full, which takes nothing: no space left on the device."""
    keys = open_run_store().list()

    def full(source: str, target: Path) -> None:
        with open("/dev/full", "wb") as handle:
            handle.write(Path(source).read_bytes())

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(EnvironmentFailure, match="the disk is full"):
        export_step.run(**given, export_out=str(tmp_path / "export.json"))
    assert not (tmp_path / "export.json").exists()
    assert open_run_store().list() == keys
    assert list((tmp_path / "home" / "cache" / "export").iterdir()) == []


def test_latency_is_added_to_the_evidence_and_the_gate_takes_it(
    given: dict[str, str], tmp_path: Path
) -> None:
    digest = ModelRef.read(Path(given["model_in"])).digest
    (tmp_path / "in" / "evaluation").mkdir(parents=True)
    (tmp_path / "in" / "evaluation" / "candidate.json").write_text("{}")
    subject = Subject.read(given["subject"])
    write_subject(
        tmp_path / "in",
        EvidenceSubject(
            schema_version=1,
            environment="tiny",
            harness=subject.harness,
            version=subject.version,
            harness_digest=subject.harness_digest,
            models=SubjectModels(candidate=digest),
            ledger_head=0,
            engine="transformers",
            hardware="cpu",
            training_items=None,
        ),
        set(),
    )
    (tmp_path / "out").mkdir()
    latency_step.run(**given, evidence_in_dir=str(tmp_path / "in"), evidence_out_dir=str(tmp_path / "out"))
    evidence = load_evidence(tmp_path / "out")
    assert evidence.subject is not None
    assert (tmp_path / "out" / "evaluation" / "candidate.json").read_text() == "{}"
    policy = parse_policies(GATE, where="gate.yaml").policy("tiny")
    assert policy.latency is not None
    assert evidence.latency is not None
    assert len(evidence.latency.requests) == policy.latency.requests_needed
    codes = [reason.code for reason in latency_reasons(policy, evidence.latency, evidence.subject)]
    assert codes == [ReasonCode.MET, ReasonCode.WARMUP_EXCLUDED]
    document = json.loads((tmp_path / "out" / "latency.json").read_text(encoding="utf-8"))
    assert document["model_digest"] == digest
    assert document["cores"] >= 1


def run_command(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["export", *arguments], catch_exceptions=True)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_runs_export_becomes_a_folder_for_vllm(
    given: dict[str, str], exported: ExportDocument, tmp_path: Path
) -> None:
    out = tmp_path / "served"
    output = run_command(str(tmp_path / "export.json"), "--target", "vllm", "--out", str(out))
    assert "vllm serve --config vllm.yaml" in output
    assert model_manifest(out).digest == exported.model.digest
    assert AutoTokenizer.from_pretrained(out).chat_template == (out / "chat_template.jinja").read_text()
    settings = yaml.safe_load((out / "vllm.yaml").read_text())
    assert (out / settings["model"] / settings["chat-template"]).is_file()
    assert (out / "README.md").read_bytes() == open_run_store().get(f"{exported.vllm}/README.md")


def test_any_model_folder_becomes_a_triton_repository_under_a_harness(
    given: dict[str, str], tiny_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "served"
    output = run_command(
        str(tiny_model), "--target", "triton", "--out", str(out), "--harness", "live-shop@1.1.0",
        "--registry", str(REGISTRY), "--set", "max_model_len=1024", "--json",
    )  # fmt: skip
    document = json.loads(output)
    arguments = json.loads((out / "model_repository" / "live-shop" / "1" / "model.json").read_text())
    assert arguments["max_model_len"] == 1024
    assert model_manifest(out / arguments["model"]).digest == document["model_digest"]
    assert document["harness"]["version"] == "1.1.0"
    assert 'backend: "vllm"' in (out / "model_repository" / "live-shop" / "config.pbtxt").read_text()
    assert {path.name for path in out.iterdir()} == {"README.md", "model", "model_repository"}


def test_evidence_of_this_model_goes_into_the_card_and_that_of_another_is_refused(
    given: dict[str, str], tiny_model: Path, tmp_path: Path
) -> None:
    digest = ModelRef.read(Path(given["model_in"])).digest
    items = [{"id": str(n), "task_digest": str(n), "correct": n % 2} for n in range(4)]
    suite = {"n": 4, "accuracy": 0.5, "accuracy_ci": [0.15, 0.85], "items": items}
    evaluation = {
        "schema_version": 1,
        "harness": "live-shop",
        "version": "1.0.0",
        "harness_digest": "b" * 64,
        "model_digest": digest,
        "suites": {"live_stream_qa": suite},
    }
    folder = tmp_path / "evidence" / "evaluation"
    folder.mkdir(parents=True)
    (folder / "candidate.json").write_text(json.dumps(evaluation))
    given_evidence = ("--evidence", str(folder.parent))
    run_command(str(tiny_model), "--target", "vllm", "--out", str(tmp_path / "one"), *given_evidence)
    assert "| live_stream_qa | 4 | 50.0% | 15.0% to 85.0% |" in (tmp_path / "one" / "README.md").read_text()
    (folder / "candidate.json").write_text(json.dumps({**evaluation, "model_digest": "c" * 64}))
    with pytest.raises(BadInput, match="the evidence is about the model cccccccccccc"):
        run_command(str(tiny_model), "--target", "vllm", "--out", str(tmp_path / "two"), *given_evidence)
    assert not (tmp_path / "two").exists()


def test_what_is_wrong_is_said_and_nothing_is_written(
    given: dict[str, str], tiny_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "served"
    with pytest.raises(BadInput, match="no target 'tensorrt'"):
        run_command(str(tiny_model), "--target", "tensorrt", "--out", str(out))
    with pytest.raises(BadInput, match="no such model folder"):
        run_command(str(tmp_path / "absent"), "--target", "vllm", "--out", str(out))
    with pytest.raises(BadInput, match="at most 4096"):
        run_command(str(tiny_model), "--target", "vllm", "--out", str(out), "--set", "max_model_len=9000")
    assert not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("keep")
    with pytest.raises(BadInput, match="exists already"):
        run_command(str(tiny_model), "--target", "vllm", "--out", str(out))
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".export")] == []
