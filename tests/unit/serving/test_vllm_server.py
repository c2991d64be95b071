"""A step's vLLM: started on the export, asked for raw text, ended with the step; and what it times is the pair's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from hat.domains.base import get_domain
from hat.errors import BadInput, EnvironmentFailure
from hat.evaluation.config import EvaluateConfig
from hat.harness.model import Harness
from hat.promotion.documents import EvidenceSubject, LatencyDocument, SubjectModels
from hat.promotion.latency import latency_reasons
from hat.promotion.policy import LatencyPolicy, Policy
from hat.promotion.reasons import ReasonCode
from hat.serving.config import EngineConfig, ExportConfig, LatencyConfig
from hat.serving.evaluating import evaluate_served
from hat.serving.guarded import foreign_environment
from hat.serving.served_latency import measure_served_latency
from hat.serving.vllm_server import engines_folder, find_vllm, served_model
from tests.support.fake_vllm import REPOSITORY, write_fake_vllm

DIGEST = "a" * 64


@pytest.fixture
def engine(tmp_path: Path) -> EngineConfig:
    return EngineConfig(kind="vllm", command=str(write_fake_vllm(tmp_path)), exclusive=True)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, base_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own for each test, once the base model has been found in the usual one."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))


def test_a_model_is_served_under_its_digest_and_the_server_ends_with_the_context(
    tiny_model: Path, harness: Harness, engine: EngineConfig
) -> None:
    with served_model(tiny_model, harness, DIGEST, ExportConfig(), engine) as served:
        names = [model["id"] for model in httpx.get(f"{served.url}/v1/models", timeout=30).json()["data"]]
        assert served.model in names
        assert served.model == f"live-shop@{DIGEST[:12]}"
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{served.url}/health", timeout=5)


def test_an_evaluation_asks_for_raw_text_and_scores_every_item(
    tiny_model: Path, harness: Harness, engine: EngineConfig
) -> None:
    asked = EvaluateConfig(
        live_stream_qa=3, harness_variant_qa=0, tool_prompt_robustness=0, instruction_following=2
    )
    document = evaluate_served(
        tiny_model,
        harness,
        get_domain(harness.domain),
        asked,
        engine=engine,
        export=ExportConfig(),
        model="base",
        model_digest=DIGEST,
    )
    assert (document["model"], document["model_digest"]) == ("base", DIGEST)
    suite = document["suites"]["live_stream_qa"]
    assert suite["n"] == len(suite["items"]) == 3
    # Raw text with a call in it went through our own parser: the skill that it names was loaded.
    assert all(item["parsed"] for item in suite["items"])
    assert document["suites"]["instruction_following"]["n"] == 2


def test_the_times_of_the_pair_are_evidence_for_the_gate(
    tiny_model: Path, harness: Harness, engine: EngineConfig
) -> None:
    load = LatencyPolicy.model_validate(
        {
            "arrival": "poisson",
            "rate": 20.0,
            "concurrency": 4,
            "warmup_requests": 1,
            "limits": [
                {"percentile": 50, "milliseconds": 600_000},
                {"measure": "first_token", "percentile": 50, "milliseconds": 600_000},
            ],
        }
    )
    document = measure_served_latency(
        tiny_model,
        harness,
        get_domain(harness.domain),
        load,
        LatencyConfig(),
        engine=engine,
        export=ExportConfig(),
        environment="tiny",
        model_digest=DIGEST,
    )
    policy = Policy.model_validate(
        {
            "description": "for a test",
            "engines": ["vllm"],
            "hardware": [document["hardware"]],
            "absolute": [{"suite": "live_stream_qa", "metric": "accuracy", "at_least": 0, "minimum_n": 1}],
            "latency": load.model_dump(),
        }
    )
    subject = EvidenceSubject(
        schema_version=1,
        environment="tiny",
        harness=harness.name,
        version=harness.version,
        harness_digest=harness.digest,
        models=SubjectModels(candidate=DIGEST),
        ledger_head=0,
        engine="vllm",
        hardware=document["hardware"],
        training_items=None,
    )
    codes = [
        reason.code for reason in latency_reasons(policy, LatencyDocument.model_validate(document), subject)
    ]
    assert codes == [ReasonCode.MET, ReasonCode.MET, ReasonCode.WARMUP_EXCLUDED]
    assert document["concurrency"] == 4


def test_a_server_that_does_not_start_is_one_message_with_its_own_words(
    tiny_model: Path, harness: Harness, tmp_path: Path
) -> None:
    (tmp_path / "broken").mkdir()
    engine = EngineConfig(kind="vllm", command=str(write_fake_vllm(tmp_path / "broken", broken=True)))
    with (
        pytest.raises(EnvironmentFailure, match="vLLM ended before it served: ValueError: no such device"),
        served_model(tiny_model, harness, DIGEST, ExportConfig(), engine),
    ):
        raise AssertionError("it is not served")


def test_an_executable_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match="no executable 'vllm-that-is-nowhere'"):
        find_vllm(EngineConfig(kind="vllm", command="vllm-that-is-nowhere"))


OWNER = """
import sys, time
from pathlib import Path
from hat.serving.config import EngineConfig
from hat.serving.vllm_server import vllm_server
folder, command = Path(sys.argv[1]), sys.argv[2]
with vllm_server(folder, EngineConfig(kind="vllm", command=command), folder / "log") as url:
    print(url, flush=True)
    time.sleep(600)
"""


def test_a_server_does_not_outlive_a_step_that_is_killed(tmp_path: Path, engine: EngineConfig) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "vllm.yaml").write_text("model: .\nserved-model-name: [one]\n")
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), engine.command],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    url = owner.stdout.readline().strip()
    assert httpx.get(f"{url}/health", timeout=60).status_code == 200
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    deadline = time.monotonic() + 120
    while True:
        try:
            httpx.get(f"{url}/health", timeout=5)
        except httpx.TransportError:
            break
        assert time.monotonic() < deadline, "the server outlived its step"
        time.sleep(0.2)


def test_nothing_of_ours_reaches_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "ours")
    monkeypatch.setenv("VLLM_TARGET_DEVICE", "cpu")
    environment = foreign_environment()
    assert environment["VLLM_TARGET_DEVICE"] == "cpu"
    assert not {"AWS_SECRET_ACCESS_KEY", "PYTHONPATH", "HAT_HOME"} & environment.keys()


def test_what_a_killed_step_left_is_removed_later_and_not_what_another_uses(tmp_path: Path) -> None:
    folder = engines_folder()
    for name in ("abandoned", "in-use"):
        (folder / name).mkdir(parents=True)
        (folder / name / "weights").write_text("w")
    old = time.time() - 3 * 24 * 3600
    os.utime(folder / "abandoned", (old, old))
    assert [left.name for left in engines_folder().iterdir()] == ["in-use"]
