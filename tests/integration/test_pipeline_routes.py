"""The real graph, with cheap steps in place of the costly ones: which steps run for which words, and what the
record and the exit status say then."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_folder import write_model_folder

REPOSITORY = Path(__file__).resolve().parents[2]

# Python imports this at start. Steps found in HAT_TEST_STEPS come before the real ones of the same name.
SITE = """
import os
import hat.steps
hat.steps.__path__.insert(0, os.environ["HAT_TEST_STEPS"])
"""

COSTLY = {
    "screen": """
def run(*, config, subject, evidence_out_dir, verdict_out, model_out):
    word = words()["screen"]
    if word == "refuse":
        raise BadInput("nothing can be screened", where="screen", mend="Wait.")
    Path(evidence_out_dir, "evidence").write_text("e")
    write(verdict_out, None if word == "train" else {"verdict": words()["screened"]})
    write(model_out, {"digest": "pp"})
    return word
""",
    "augment": """
def run(*, config, subject, states_out_dir):
    Path(states_out_dir, "states").write_text("s")
""",
    "generate": """
def run(*, config, subject, states_dir, trajectories_out_dir):
    Path(trajectories_out_dir, "trajectories.jsonl").write_text("t")
""",
    "validate": """
def run(*, config, subject, trajectories_dir, report_out_html):
    Path(report_out_html).write_text("<p>")
""",
    "sft": """
def run(*, config, subject, trajectories_dir, model_out, metrics_out):
    write(model_out, {"digest": "sft"})
    Path(metrics_out).write_text("")
""",
    "opd": """
def run(*, config, subject, model_in, trajectories_dir, model_out, metrics_out):
    write(model_out, {"digest": "opd"})
    Path(metrics_out).write_text("")
""",
    "rl": """
def run(*, config, subject, model_in, trajectories_dir, model_out, metrics_out, tasks_out):
    write(model_out, {"digest": "rl"})
    write(tasks_out, {"task_digests": []})
    Path(metrics_out).write_text("")
""",
    "export": """
def run(*, config, subject, model_in, export_out):
    write(export_out, {"vllm": "v"})
""",
    "evaluate": """
def run(*, config, subject, model_in, trajectories_dir, tasks_in, evidence_out_dir):
    Path(evidence_out_dir, "subject.json").write_text("{}")
""",
    "latency": """
def run(*, config, subject, model_in, evidence_in_dir, evidence_out_dir):
    Path(evidence_out_dir, "latency.json").write_text("{}")
""",
    "decide": """
def run(*, config, subject, evidence_dir, verdict_out):
    write(verdict_out, {"verdict": words()["decide"]})
    return words()["decide"]
""",
    "promote": """
def run(*, config, subject, model_in, verdict, promotion_out):
    write(promotion_out, {"model": json.loads(Path(model_in).read_text())})
    return 1
""",
}
HEAD = """
import json, os
from pathlib import Path
from hat.errors import BadInput
def words():
    return json.loads(Path(os.environ["HAT_TEST_WORDS"]).read_text())
def write(path, value):
    Path(path).write_text(json.dumps(value))
"""
TRAINING = ["augment", "generate", "validate", "sft", "opd", "rl", "export", "evaluate", "latency", "decide"]


class Product:
    """`hat` in a folder of its own, with cheap steps whose words a test sets."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        steps = root / "steps"
        steps.mkdir()
        (root / "sitecustomize.py").write_text(SITE)
        for name, code in COSTLY.items():
            (steps / f"{name}.py").write_text(HEAD + code)
        monkeypatch.setenv("HAT_HOME", str(root / "home"))
        monkeypatch.delenv("HAT_STORE", raising=False)
        monkeypatch.setenv("HAT_TEST_STEPS", str(steps))
        monkeypatch.setenv("HAT_TEST_WORDS", str(root / "words"))
        monkeypatch.setenv("PYTHONPATH", f"{root}:{REPOSITORY}")
        self.model = write_model_folder(root / "model")

    def say(self, **words: str) -> None:
        (self.root / "words").write_text(json.dumps(words))

    def hat(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pipelines.cli", *arguments]
        return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    def start(self) -> list[str]:
        return ["run", "live-shop@1.0.0", "--profile", "tiny", "--set", f"base_model={self.model}"]

    def resume(self, run: str) -> tuple[int, dict[str, Any]]:
        result = self.hat("run", "live-shop@1.0.0", "--resume", run, "--json")
        return result.returncode, json.loads(result.stdout)

    def run(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        result = self.hat(*self.start(), "--json", *arguments)
        assert "Traceback" not in result.stderr
        return result.returncode, json.loads(result.stdout)


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    return Product(tmp_path, monkeypatch)


def ran(record: dict[str, Any], status: str = "ran") -> list[str]:
    return [step["name"] for step in record["steps"] if step["status"] == status]


def test_a_screen_that_passes_promotes_and_trains_nothing(product: Product) -> None:
    product.say(screen="promote", screened="PASS")
    status, record = product.run()
    assert status == 0
    assert ran(record) == ["resolve", "screen", "promote"]
    assert ran(record, "skipped") == TRAINING
    assert (record["verdict"], record["trained"], record["promoted"]) == ("PASS", False, True)
    assert record["models"]["candidate"] is None


@pytest.mark.parametrize(
    ("word", "exit_status", "promoted"), [("PASS", 0, True), ("FAIL", 1, False), ("INCONCLUSIVE", 3, False)]
)
def test_a_screen_that_says_train_leads_through_training_to_the_gate(
    product: Product, word: str, exit_status: int, promoted: bool
) -> None:
    product.say(screen="train", decide=word)
    status, record = product.run()
    assert status == exit_status
    assert ran(record) == ["resolve", "screen", *TRAINING] + (["promote"] if promoted else [])
    assert (record["verdict"], record["trained"], record["promoted"]) == (word, True, promoted)
    assert record["status"] == "succeeded"
    assert record["models"]["candidate"] == "rl"
    shown = product.root / "home" / "runs" / record["run"] / "kfp"
    (verdict,) = shown.rglob("finalize/verdict")
    assert word in verdict.read_text(encoding="utf-8")
    (report,) = shown.rglob("finalize/report")
    assert "<html" in report.read_text(encoding="utf-8")


def test_a_screen_that_stops_ends_the_run_with_its_verdict(product: Product) -> None:
    product.say(screen="stop", screened="INCONCLUSIVE")
    status, record = product.run()
    assert status == 3
    assert ran(record) == ["resolve", "screen"]
    assert (record["verdict"], record["trained"], record["promoted"]) == ("INCONCLUSIVE", False, False)


def test_a_failed_step_ends_in_one_message_and_the_run_resumes_where_it_failed(product: Product) -> None:
    product.say(screen="refuse")
    result = product.hat(*product.start())
    assert result.returncode == 2
    assert "screen: nothing can be screened. Wait." in result.stdout
    records = json.loads(product.hat("runs", "--json").stdout)
    assert [(record["status"], record["error"]["step"]) for record in records] == [("failed", "screen")]
    product.say(screen="train", decide="PASS")
    status, record = product.resume(records[0]["run"])
    assert status == 0
    assert ran(record, "skipped") == ["resolve"]
    assert record["attempts"] == 2
    status, again = product.resume(records[0]["run"])
    assert status == 0
    assert again == record


def test_a_second_run_reuses_all_that_may_be_reused(product: Product) -> None:
    product.say(screen="train", decide="FAIL")
    product.run()
    _, record = product.run()
    assert ran(record, "cached") == [
        "augment",
        "generate",
        "validate",
        "sft",
        "opd",
        "rl",
        "export",
        "evaluate",
    ]
    assert ran(record) == ["resolve", "screen", "latency", "decide"]


def test_a_changed_setting_runs_again_what_reads_it_and_what_comes_after(product: Product) -> None:
    product.say(screen="train", decide="FAIL")
    product.run()
    _, record = product.run("--set", "sft.control=fixed")
    assert ran(record, "cached") == ["augment", "generate", "validate", "evaluate"]
    # What SFT was told is read elsewhere too: by the stages that may replay its packs, and for the model card.
    assert {"sft", "opd", "rl", "export"} <= set(ran(record))
