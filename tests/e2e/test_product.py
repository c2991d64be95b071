"""The product as a user meets it, at the smallest size: killed, resumed, promoted, and then screened only."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hat.runs.progress import Reader
from hat.steps.entries import read_entry
from hat.storage import open_store

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]
REPOSITORY = Path(__file__).resolve().parents[2]
BEFORE_SFT = ["resolve", "screen", "augment", "generate", "validate"]


class Product:
    """`hat` with a state folder of its own, the profile `tiny` and the default base model."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "HAT_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
        for name in ("HAT_STORE", "HAT_RUN_ID", "HAT_REGISTRY"):
            self.environment.pop(name, None)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", *arguments],
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hat(self, *arguments: str, expect: int = 0) -> Any:
        process = self.start(*arguments, "--json")
        output, remarks = process.communicate()
        assert process.returncode == expect, remarks
        assert "Traceback" not in remarks
        return json.loads(output)

    def kill_during(self, step: str, *arguments: str) -> str:
        """Start a run, end it with SIGKILL once ``step`` has done something, and return the run's name."""
        process = self.start(*arguments)
        while process.poll() is None:
            for folder in (self.home / "runs").glob("*"):
                if any(event.step == step and event.done > 0 for event in Reader(folder).events()):
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    return folder.name
            time.sleep(0.2)
        raise AssertionError(f"the run ended before {step}: {process.communicate()[1]}")


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    return Product(tmp_path_factory.mktemp("product"))


@pytest.fixture(scope="module")
def trained(product: Product) -> dict[str, Any]:
    """The record of a first run that was killed during SFT and resumed."""
    run = product.kill_during("sft", "run", "live-shop@1.0.0", "--profile", "tiny")
    assert product.hat("runs")[0]["status"] == "interrupted"
    record: dict[str, Any] = product.hat("run", "live-shop@1.0.0", "--resume", run)
    assert record["run"] == run
    return record


def status_of(record: dict[str, Any]) -> dict[str, str]:
    return {step["name"]: step["status"] for step in record["steps"]}


def test_a_run_killed_during_sft_resumes_without_running_finished_steps_again(
    trained: dict[str, Any],
) -> None:
    status = status_of(trained)
    assert [name for name in status if status[name] == "skipped"] == BEFORE_SFT
    assert status["sft"] == "ran"
    assert (trained["verdict"], trained["trained"], trained["promoted"]) == ("PASS", True, True)


def test_the_promoted_pair_is_in_production(product: Product, trained: dict[str, Any]) -> None:
    pair = product.hat("production", "live-shop", "--environment", "tiny")
    assert (pair["version"], pair["run"]) == ("1.0.0", trained["run"])
    assert pair["model_digest"] == trained["models"]["candidate"]


def test_anyone_can_recompute_the_verdict_from_the_evidence(
    product: Product, trained: dict[str, Any]
) -> None:
    store = open_store(str(product.home / "store"))
    latency = read_entry(store, trained["run"], "latency")
    assert latency is not None
    evidence = store.local_path(f"{latency.place}/evidence_out_dir")
    verdict = product.hat("gate", str(REPOSITORY / "harness_registry/live-shop/gate.yaml"), str(evidence))
    assert verdict["verdict"] == trained["verdict"]


def test_the_report_is_one_file_that_needs_no_network(trained: dict[str, Any]) -> None:
    text = Path(trained["report"]).read_text(encoding="utf-8")
    assert trained["verdict"] in text
    assert trained["models"]["candidate"][:12] in text
    assert 'src="http' not in text
    assert 'href="http' not in text


def test_the_next_version_is_promoted_by_screening_alone(product: Product, trained: dict[str, Any]) -> None:
    record = product.hat("run", "live-shop@1.1.0", "--profile", "tiny")
    status = status_of(record)
    assert [name for name in status if status[name] == "ran"] == ["resolve", "screen", "promote"]
    assert (record["verdict"], record["trained"], record["promoted"]) == ("PASS", False, True)
    assert record["models"]["production"] == trained["models"]["candidate"]
    assert product.hat("production", "live-shop", "--environment", "tiny")["version"] == "1.1.0"
