"""A finished run in a store: real episodes of a clumsy expert, judged by the real gate."""

import json
import random
from pathlib import Path

import pytest

from hat.agent.episode import Episode
from hat.agent.policy import answer_requests
from hat.domains.base import get_domain
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.instruction_following import PROMPTS_FILE, own_items, suite_document
from hat.evaluation.run import evaluate_policy
from hat.files import canonical_json, sha256_text
from hat.harness.registry import Registry
from hat.promotion.documents import EvaluationDocument, EvidenceSubject, LatencyDocument
from hat.promotion.evidence import Evidence
from hat.promotion.policy import load_policies
from hat.promotion.verdict import decide
from hat.runs.record import ModelDigests, RunRecord, StepRecord, write_record
from hat.steps.entries import StepEntry, write_entry
from hat.storage import open_store

REGISTRY = Path(__file__).parents[3] / "harness_registry"
RUN = "20261130-200000-live-shop-1.0.0-ab12"
MODELS = {"base": "b" * 64, "production": "d" * 64, "candidate": "c" * 64}


class ClumsyExpert:
    """Plays as the domain's expert does, and spoils a share of its replies or calls."""

    name = "clumsy-expert"

    def __init__(self, domain, share, seed):
        self._domain, self._share, self._seed = domain, share, seed

    def play(self, episodes, execute, on_done):
        for index, episode in enumerate(episodes):
            draw = random.Random(f"{self._seed}/{episode.id}")
            if draw.random() < self._share:
                self._spoil(episode, execute, draw)
            else:
                self._domain.expert().play([episode], execute, lambda _: None)
            on_done(index)

    def _spoil(self, episode, execute, draw):
        shadow = Episode(episode.state, episode.task, self._domain)
        self._domain.expert().play([shadow], execute, lambda _: None)
        for turn in shadow.turns:
            if episode.done:
                return
            calls = tuple(episode.state.encode(call) for call in turn.calls)
            text = "".join(
                "<tool_call>"
                + json.dumps({"name": call.name, "arguments": dict(call.arguments)})
                + "</tool_call>"
                for call in calls
            )
            spoiled = text or draw.choice(
                ["It costs 9.9 yuan.", "Sorry, I cannot answer that here.", "", "<b>Link 3</b> is blue."]
            )
            answer_requests(episode, episode.submit(spoiled), execute)
        while not episode.done:
            episode.submit("")


def evaluation(harness, domain, config, role, share, instruction_share):
    policy = ClumsyExpert(domain, share, role)
    document = evaluate_policy(policy, harness, domain, config)
    items = own_items()[:30]
    draw = random.Random(role)
    lines = PROMPTS_FILE.read_text(encoding="utf-8")
    examples = [json.loads(line)["example"] for line in lines.splitlines()][:30]
    replies = [example if draw.random() < instruction_share else "Sure, I can help." for example in examples]
    general = suite_document(
        "instruction_following", items, replies, excluded=[], checkers="own", token_cap=96
    )
    document["suites"][general.pop("suite")] = general
    return {**document, "model_digest": MODELS[role]}


def latency_document(harness_digest, seed=0):
    draw = random.Random(seed)
    requests, clock = [], 0.0
    for number in range(40):
        seconds = draw.lognormvariate(1.2, 0.35) * (4 if number < 3 else 1)
        requests.append(
            {
                "id": f"q{number}",
                "scheduled": clock,
                "started": clock,
                "finished": clock + seconds,
                "status": "ok",
            }
        )
        clock += seconds
    return {
        "schema_version": 1,
        "engine": "transformers",
        "hardware": "cpu",
        "cpu": "2 cores of a shared machine",
        "cores": 2,
        "model_digest": MODELS["candidate"],
        "harness_digest": harness_digest,
        "arrival": "closed-loop",
        "concurrency": 1,
        "rate": None,
        "shared_device": True,
        "warmup": [],
        "requests": requests,
    }


def training_logs():
    draw = random.Random(1)
    sft = [
        {
            "stage": "sft",
            "step": step,
            "loss": 2.4 * 0.97**step + 0.12 + draw.uniform(-0.05, 0.05),
            "seconds": 3.1,
        }
        for step in range(1, 121)
    ]
    opd = [
        {"stage": "opd", "step": step, "loss": 0.3, "kl": 0.31 * 0.9**step, "seconds": 6.0}
        for step in range(1, 13)
    ]
    rl = [
        {
            "stage": "rl",
            "step": step,
            "loss": 0.01,
            "reward": 0.9 + 0.04 * step + draw.uniform(-0.1, 0.1),
            "rewards": {"accuracy": 0.5 + 0.03 * step, "format": 0.4 + draw.uniform(0, 0.05), "skill": 0.2},
            "seconds": 14.0,
        }
        for step in range(1, 9)
    ]
    return {"sft": sft, "opd": opd, "rl": rl}


def write_sample_run(store, *, items, shares=(0.95, 0.25, 0.08), production=True):
    """Write every document of a run; returns the verdict."""
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    domain = get_domain("live_shop")
    config = EvaluateConfig(
        live_stream_qa=items, harness_variant_qa=items, tool_prompt_robustness=max(3, items // 4)
    )
    base, middle, candidate = shares
    evaluations = {
        "base": evaluation(harness, domain, config.limited(max(3, items // 4)), "base", base, 0.3),
        "candidate": evaluation(harness, domain, config, "candidate", candidate, 0.33),
    }
    if production:
        evaluations["production"] = evaluation(harness, domain, config, "production", middle, 0.27)
    latency = latency_document(harness.digest)
    subject = {
        "schema_version": 1,
        "environment": "laptop",
        "harness": "live-shop",
        "version": "1.0.0",
        "harness_digest": harness.digest,
        "models": {**MODELS, "production": MODELS["production"] if production else None},
        "ledger_head": 1 if production else 0,
        "engine": "transformers",
        "hardware": "cpu",
        "training_items": "training_items.json",
    }
    policy = load_policies(REGISTRY / "live-shop" / "gate.yaml").policy("laptop")
    evidence = Evidence(
        subject=EvidenceSubject.model_validate(subject),
        evaluations={role: EvaluationDocument.model_validate(value) for role, value in evaluations.items()},
        latency=LatencyDocument.model_validate(latency),
        training_digests=frozenset({"trained on"}),
        problems=(),
        digest=sha256_text(canonical_json(evaluations)),
    )
    verdict = decide(policy, evidence, environment="laptop")

    def put(step, name, value):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        store.put(f"cache/{step}/{step * 2}/{name}", text.encode("utf-8"))

    base_reference = {
        "digest": MODELS["base"],
        "base": "SmolLM2-135M-Instruct",
        "notes": "Dequantised once from GGUF Q4_1.",
    }
    put("resolve", "config_out", {"domain": "live_shop", "profile": "laptop"})
    put(
        "resolve",
        "subject_out",
        {
            "environment": "laptop",
            "base": base_reference,
            "production_version": "0.9.0" if production else None,
        },
    )
    put(
        "generate",
        "trajectories_out_dir/summary.json",
        {"policy": "scripted-expert", "tasks": 640, "accepted": 632, "rejected": {"wrong facts": 8}},
    )
    for stage, lines in training_logs().items():
        put(stage, "metrics_out", "".join(json.dumps(line) + "\n" for line in lines))
    for role, document in evaluations.items():
        put("evaluate", f"evidence_out_dir/evaluation/{role}.json", document)
    put("latency", "evidence_out_dir/latency.json", latency)
    put("latency", "evidence_out_dir/subject.json", subject)
    put("decide", "verdict_out", verdict.to_json())
    steps = []
    for name, seconds, status in (
        ("resolve", 1.2, "ran"), ("screen", 0.3, "skipped"), ("augment", 4.5, "ran"),
        ("generate", 12.4, "cached"), ("validate", 7.1, "ran"), ("sft", 402.0, "ran"),
        ("opd", 75.0, "ran"), ("rl", 118.0, "ran"), ("export", 3.0, "ran"), ("evaluate", 512.0, "ran"),
        ("latency", 131.0, "ran"), ("decide", 0.4, "ran"), ("promote", 0.1, "ran"),
    ):  # fmt: skip
        steps.append(StepRecord(name=name, status=status, seconds=seconds))
        write_entry(store, RUN, StepEntry(name, f"{name}-key", status, seconds, f"cache/{name}/{name * 2}"))
    write_record(
        store,
        RunRecord(
            run=RUN,
            harness="live-shop",
            version="1.0.0",
            harness_digest=harness.digest,
            code_version="e" * 64,
            profile="laptop",
            mode="auto",
            status="succeeded",
            verdict=verdict.word.value,
            trained=True,
            promoted=verdict.word.value == "PASS",
            started="2026-11-30T20:00:00+00:00",
            finished="2026-11-30T20:21:07+00:00",
            steps=tuple(steps),
            models=ModelDigests(**MODELS),
        ),
    )
    return verdict


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory):
    """A store with one whole run, read only."""
    store = open_store(str(tmp_path_factory.mktemp("report") / "store"))
    write_sample_run(store, items=15)
    return store
