"""`hat submit`, `hat watch` and `hat schedule apply` as a user types them, against a Kubeflow API server."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hat.storage import Store
from pipelines.compile import Compiled
from pipelines.watching.submissions import read_submissions
from tests.integration.triggers.conftest import IMAGES, REPOSITORY, Checkout
from tests.support.kubeflow_server import Fault, KubeflowServer

IMAGE_OPTIONS = [f"--image={family}={reference}" for family, reference in IMAGES.items()]


def start(*arguments: str, folder: Path = REPOSITORY) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pipelines.cli", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def hat(*arguments: str, folder: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    process = start(*arguments, folder=folder)
    out, err = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def test_submit_starts_a_run_that_says_harness_version_and_commit(
    server: KubeflowServer, store: Store, checkout: Checkout, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    server.tokens = {"secret"}
    result = hat(
        *("submit", "live-shop@1.0.0", "--endpoint", server.url, "--profile", "tiny", *IMAGE_OPTIONS),
        *("--registry", str(checkout.registry), "--experiment", "mine", "--token-file", str(token)),
        *("--set", "rl.steps=0", "--json"),
    )
    assert result.returncode == 0, result.stderr
    submitted = json.loads(result.stdout)
    run = server.runs[submitted["run_id"]]
    assert run["display_name"] == f"live-shop 1.0.0 {checkout.git('rev-parse', 'HEAD')[:12]}"
    assert server.experiments[run["experiment_id"]]["display_name"] == "mine"
    parameters = run["runtime_config"]["parameters"]
    assert parameters["overrides"] == '{"rl.steps": 0}'
    (version,) = [v for v in server.versions.values() if v["name"] != "hat-tiny"]
    assert run["pipeline_version_reference"]["pipeline_version_id"] == version["pipeline_version_id"]
    defaults = version["pipeline_spec"]["pipeline_spec"]["root"]["inputDefinitions"]["parameters"]
    assert defaults["image_train"]["defaultValue"] == IMAGES["train"]
    assert store.list("harnesses/live-shop")


def test_a_watcher_killed_between_submit_and_record_leaves_one_run(
    server: KubeflowServer, store: Store, checkout: Checkout
) -> None:
    watch = ["watch", "--once", "--endpoint", server.url, "--profile", "tiny", *IMAGE_OPTIONS, "--json"]
    first = start(*watch, folder=checkout.folder)
    # The server kills the watcher when the run exists and before it is told so.
    server.faults = [
        Fault(0, "POST", "/runs$", after=True, action=lambda: os.kill(first.pid, signal.SIGKILL))
    ]
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert len(server.runs) == 1
    assert [each.run_id for each in read_submissions(store, "tiny", "live-shop")] == [""]

    second = hat(*watch, folder=checkout.folder)
    assert second.returncode == 0, second.stderr
    assert [each["kind"] for each in json.loads(second.stdout)] == ["submitted"]
    assert [each.run_id for each in read_submissions(store, "tiny", "live-shop")] == list(server.runs)
    assert len(server.runs) == 1


def test_watch_without_a_cluster_is_one_message(store: Store, checkout: Checkout) -> None:
    result = hat(
        *("watch", "--once", "--endpoint", "http://127.0.0.1:9", "--profile", "tiny", *IMAGE_OPTIONS),
        folder=checkout.folder,
    )
    assert result.returncode == 4
    assert "Kubeflow Pipelines cannot be reached" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_watch_at_an_interval_outlives_a_cluster_that_is_away_and_ends_when_asked(
    server: KubeflowServer, store: Store, checkout: Checkout
) -> None:
    server.faults = [Fault(503, "GET", "/healthz", times=5)]  # one whole pass
    command = ["watch", "--interval", "1", "--endpoint", server.url, "--profile", "tiny", *IMAGE_OPTIONS]
    process = start(*command, folder=checkout.folder)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("live-shop@1.0.0: submitted")
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "cannot serve: 503" in said
    assert len(server.runs) == 1


def test_schedule_apply_says_what_it_did(server: KubeflowServer, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "schedules.yaml"
    file.write_text("schedules: [{name: nightly, harness: live-shop, profile: tiny, cron: '0 0 3 * * *'}]")
    command = ["schedule", "apply", str(file), "--endpoint", server.url, *IMAGE_OPTIONS]
    first = hat(*command)
    assert (first.returncode, first.stdout) == (0, "nightly: created\n"), first.stderr
    assert hat(*command).stdout == "nightly: unchanged\n"
    assert len(server.recurring) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["watch", "--endpoint", "http://127.0.0.1:9"], "either --once or --interval"),
        (["watch", "--once", "--endpoint", "http://127.0.0.1:9"], "a cluster needs the images"),
        (["watch", "--once", "--endpoint", "x", "--repository", "/nonexistent"], "no Git repository"),
        (["schedule", "apply", "nowhere.yaml", "--endpoint", "http://127.0.0.1:9"], "nowhere.yaml"),
    ],
)
def test_bad_input_is_one_message(store: Store, arguments: list[str], told: str) -> None:
    result = hat(*arguments)
    assert result.returncode == 2
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


STEP = """
from hat.steps.journal import run_step
run_step("hat.steps.resolve", parameters={"harness": "live-shop", "version": "latest", "harness_digest": "",
    "mode": "auto", "overrides": "{}", "code_version": "c", "profile": "{}"},
    outputs={"config_out": "config", "subject_out": "subject"})
"""


def test_without_s3_credentials_the_first_step_fails_with_one_message_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("HAT_STORE", "s3://bucket/prefix?region=us-east-1")
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HAT_RUN_ID", "r")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    command = [sys.executable, "-c", STEP]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("hat-error ")]
    told = json.loads(line.removeprefix("hat-error "))
    assert told["step"] == "resolve"
    assert "credentials" in told["message"]
    assert "bucket" in told["message"]


def test_the_first_step_asks_for_no_accelerator(compiled: Compiled) -> None:
    spec = next(iter(yaml.safe_load_all(compiled.package.read_text(encoding="utf-8"))))
    executors = spec["deploymentSpec"]["executors"]
    assert "accelerator" not in executors["exec-resolve"]["container"]["resources"]
    assert "accelerator" in executors["exec-screen"]["container"]["resources"]
