"""`hat reproduce` as a user runs it, with the random model: killed in a training, resumed, measured, collected."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hat.reproduce.results import read_result, result_path
from hat.storage import open_store

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3000)]
REPOSITORY = Path(__file__).resolve().parents[2]
SUITE = (
    "reproduce",
    "--suite",
    "smoke",
    "--arm",
    "fixed_sft",
    "--arm",
    "hsa_sft",
    "--set",
    "augment.states=16",
)


class Product:
    """`hat` with a state folder of its own."""

    def __init__(self, home: Path) -> None:
        self.home, self.out = home, home / "results"
        self.environment = {**os.environ, "HAT_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
        for name in ("HAT_STORE", "HAT_RUN_ID", "HAT_REGISTRY", "HAT_IFEVAL_FILE"):
            self.environment.pop(name, None)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pipelines.cli", *SUITE, *arguments]
        return subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hat(self, *arguments: str) -> tuple[str, str]:
        """What it prints on stdout and stderr."""
        process = self.start(*arguments)
        output, remarks = process.communicate()
        assert process.returncode == 0, remarks
        return output, remarks

    def kill_in_training(self, *arguments: str) -> list[dict[str, object]]:
        """Start, end the command with SIGKILL once a checkpoint is in the store, and return that checkpoint's log."""
        process = self.start(*arguments)
        store = open_store(str(self.home / "store"))
        while process.poll() is None:
            for key in store.list("checkpoints"):
                place = key.rpartition("/")[0]
                if key.endswith("log.jsonl") and store.tree(place) is not None:
                    lines = store.get(key).decode().splitlines()
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    return [json.loads(line) for line in lines]
            time.sleep(0.05)
        raise AssertionError(f"the training ended before it was killed: {process.communicate()[1]}")


def test_two_arms_and_two_seeds_killed_resumed_and_collected(tmp_path: Path) -> None:
    product = Product(tmp_path)
    out = ("--out", str(product.out))
    kept = product.kill_in_training("--only", "train-fixed_sft-0", *out)
    assert not result_path(product.out, "train-fixed_sft-0").exists()

    _, said = product.hat("--only", "train-fixed_sft-0", "--only", "train-hsa_sft-1", *out)
    assert "train-fixed_sft-0 done" in said
    resumed = read_result(result_path(product.out, "train-fixed_sft-0"))
    assert resumed.header.provenance.attempts == 2
    assert [row["step"] for row in resumed.rows] == list(range(1, 17))
    assert (
        list(resumed.rows[: len(kept)]) == kept
    )  # to the second that each step took: they were not done again
    listed = json.loads(product.hat("--list", "--json", *out)[0])
    states = {each["unit"]: each["state"] for each in listed["units"]}
    assert states["train-fixed_sft-0"] == states["train-hsa_sft-1"] == "done"
    assert states["evaluate-hsa_sft-1-live_stream_qa"] == "ready"
    assert states["evaluate-hsa_sft-0-live_stream_qa"] == "waits"

    before = resumed.header.provenance.started
    product.hat(*out)
    assert read_result(result_path(product.out, "train-fixed_sft-0")).header.provenance.started == before
    product.hat("--collect", str(product.out))
    table = json.loads(product.hat("--collect", str(product.out), "--json")[0])
    assert set(table["scores"]) == {"fixed_sft", "hsa_sft"}
    assert table["scores"]["hsa_sft"]["harness_variant_qa"]["seeds"] == 2
    assert table["missing"] == []
    assert "<svg" in (product.out / "table.html").read_text()
    assert (product.out / "table.md").read_text().startswith("# Reproduction, suite smoke, dev split")
