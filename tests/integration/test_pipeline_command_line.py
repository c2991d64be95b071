"""Bad input at the command line: one message, the right exit status, no traceback, nothing half done."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.model_folder import write_model_folder

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    for name in ("HAT_STORE", "HAT_RUN_ID", "HAT_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    return tmp_path / "home"


def hat(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines.cli", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "no-such"], "no harness named 'no-such'"),
        (["run", "live-shop@9.9.9"], "live-shop has no version 9.9.9"),
        (["run", "Live Shop"], "NAME@VERSION"),
        (["run", "live-shop", "--profile", "nope"], "no profile 'nope'"),
        (["run", "live-shop", "--set", "sft.control"], "not key=value"),
        (["run", "live-shop", "--set", "sft.contrl=fixed"], "Did you mean 'sft.control'?"),
        (["run", "live-shop", "--set", "sft.control=loose"], "sft.control"),
        (["run", "live-shop", "--set", "base_model={{$.x}}"], "Kubeflow expands it"),
        (["run", "live-shop", "--set", "generate.tasks=0"], "generate.tasks"),
        (["run", "live-shop", "--registry", "/no/such/folder"], "no such harness registry"),
        (["run", "live-shop", "--resume", "no-such-run"], "there is no run 'no-such-run'"),
        (
            ["run", "live-shop", "--resume", "a-run", "--profile", "tiny"],
            "--profile: a resumed run keeps its settings",
        ),
        (["report", "no-such-run"], "there is no run 'no-such-run'"),
        (["promote", "no-such-run"], "there is no run 'no-such-run'"),
        (["gate", "no.yaml", "nowhere"], "no.yaml"),
        (["rollback", "live-shop", "--reason", "x"], "live-shop"),
        (["compile", "--out", "x", "--image", "cpu=python:latest"], "not pinned by digest"),
        (["submit", "live-shop", "--endpoint", "http://127.0.0.1:9"], "--image"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(home: Path, arguments: list[str], told: str) -> None:
    result = hat(*arguments)
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
    assert not (home / "runs").exists()


def test_a_malformed_harness_names_its_file(home: Path, tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    shutil.copytree(REPOSITORY / "harness_registry", registry)
    manifest = registry / "live-shop" / "versions" / "1.0.0" / "harness.yaml"
    manifest.write_text("name: [")
    result = hat("run", "live-shop@1.0.0", "--registry", str(registry))
    assert result.returncode == 2
    assert "harness.yaml" in result.stderr
    assert not (home / "runs").exists()


def test_a_base_model_without_tokenizer_stops_in_the_first_step_and_leaves_a_record(
    home: Path, tmp_path: Path
) -> None:
    model = write_model_folder(tmp_path / "model")
    (model / "tokenizer.json").unlink()
    result = hat("run", "live-shop@1.0.0", "--profile", "tiny", "--set", f"base_model={model}", "--json")
    assert result.returncode == 2
    assert "tokenizer" in result.stderr
    assert "Traceback" not in result.stderr
    record = json.loads(result.stdout)
    assert (record["status"], record["error"]["step"]) == ("failed", "resolve")
    assert [r["run"] for r in json.loads(hat("runs", "--json").stdout)] == [record["run"]]

    damaged = home / "store" / "runs" / "20200101-000000-damaged" / "record.json"
    damaged.parent.mkdir()
    damaged.write_text("{}")
    listed = hat("runs", "--json")
    assert [r["run"] for r in json.loads(listed.stdout)] == [record["run"]]
    assert "20200101-000000-damaged/record.json: malformed run record: run: is missing" in listed.stderr


def test_a_strong_model_that_does_not_answer_stops_the_run_before_any_work(home: Path) -> None:
    endpoint = ["policy=endpoint", "endpoint.url=http://127.0.0.1:9/v1", "endpoint.model=m"]
    settings = [part for setting in endpoint for part in ("--set", f"generate.{setting}")]
    result = hat("run", "live-shop@1.0.0", "--profile", "tiny", "--json", *settings)
    assert result.returncode == 4
    assert "http://127.0.0.1:9/v1: cannot be reached" in result.stderr
    assert "Traceback" not in result.stderr
    assert json.loads(result.stdout)["error"]["step"] == "resolve"


def test_a_store_that_cannot_be_written_is_an_environment_failure(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "file" / "store"))
    result = hat("run", "live-shop@1.0.0")
    assert result.returncode in (2, 4)
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


IMAGES = [f"--image={family}=hat@sha256:{'0' * 64}" for family in ("cpu", "train")]


def submit(monkeypatch: pytest.MonkeyPatch, store: str) -> subprocess.CompletedProcess[str]:
    monkeypatch.setenv(
        "HAT_STORE", f"s3://bucket/prefix?endpoint={store}&region=us-east-1&s3ForcePathStyle=true"
    )
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    return hat("submit", "live-shop", "--endpoint", "http://127.0.0.1:9", "--profile", "tiny", *IMAGES)


def test_an_unreachable_store_is_an_environment_failure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = submit(monkeypatch, "http://127.0.0.1:9")
    assert result.returncode == 4
    assert "Traceback" not in result.stderr


def test_an_unreachable_cluster_is_an_environment_failure_and_the_harness_is_published(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        client = boto3.client(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )
        client.create_bucket(Bucket="bucket")
        result = submit(monkeypatch, address)
        keys = [entry["Key"] for entry in client.list_objects_v2(Bucket="bucket")["Contents"]]
    finally:
        server.stop()
    assert result.returncode == 4
    assert "http://127.0.0.1:9: Kubeflow Pipelines cannot be reached" in result.stderr
    assert "Traceback" not in result.stderr
    assert any(key.endswith(".tar") for key in keys)


def test_compile_writes_a_package_for_each_profile(home: Path, tmp_path: Path) -> None:
    result = hat("compile", "--out", str(tmp_path / "build"))
    assert result.returncode == 0
    written = sorted(path.name for path in (tmp_path / "build").iterdir())
    names = [
        f"hat-{profile}{kind}"
        for profile in ("h20", "laptop", "tiny")
        for kind in (".manifests.yaml", ".yaml")
    ]
    assert written == names


def test_without_runs_and_promotions_the_lists_are_empty_and_valid(home: Path) -> None:
    assert json.loads(hat("runs", "--json").stdout) == []
    assert hat("runs").stdout == "no run has been made yet\n"
    document = json.loads(hat("production", "live-shop", "--json").stdout)
    assert document["version"] is None
    keys = {"environment", "harness", "version", "harness_digest", "model", "model_digest", "run", "previous"}
    assert keys <= set(document)
