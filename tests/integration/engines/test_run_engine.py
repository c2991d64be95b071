"""vLLM as the engine of a run's steps: evaluation, latency, and rollouts whose weights follow the trainer's."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hat.agent.policies.served import ServedPolicy
from hat.augment.config import AugmentConfig
from hat.domains.base import get_domain
from hat.errors import EnvironmentFailure
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.run import items_digest
from hat.harness.model import Harness
from hat.models.precision import compute_dtype, computes_in_bfloat16
from hat.serving.config import EngineConfig, ExportConfig
from hat.serving.evaluating import evaluate_served
from hat.serving.weight_sync import SyncedServer, synced_server
from hat.training.config import RLConfig
from hat.training.rl import RolloutEngine, train_rl
from hat.training.rollouts import plan_groups, play_groups
from tests.support.engines import require_environment

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]
DIGEST = "a" * 64
SETTINGS = RLConfig(
    steps=2, groups_per_step=1, candidates=1, group_size=2, max_new_tokens=12, rollouts="vllm"
)


@pytest.fixture(scope="module")
def engine() -> EngineConfig:
    variables = {"HF_HUB_OFFLINE": "1", "VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_KVCACHE_SPACE": "1"}
    return EngineConfig(
        kind="vllm",
        command=str(require_environment() / "bin" / "vllm"),
        variables={**variables, "VLLM_NO_USAGE_STATS": "1"},
        arguments={} if computes_in_bfloat16() else {"dtype": "float32"},
        concurrency=4,
    )


@pytest.fixture(scope="module")
def server(base_model: Path, harness: Harness, engine: EngineConfig) -> Iterator[SyncedServer]:
    with synced_server(base_model, harness, DIGEST, ExportConfig(), engine, {}) as running:
        yield running


def test_an_evaluation_on_vllm_asks_the_items_of_one_in_process(
    base_model: Path, harness: Harness, engine: EngineConfig
) -> None:
    asked = EvaluateConfig(
        live_stream_qa=3,
        harness_variant_qa=0,
        tool_prompt_robustness=0,
        instruction_following=2,
        max_new_tokens=24,
        instruction_tokens=16,
    )
    document = evaluate_served(
        base_model,
        harness,
        get_domain(harness.domain),
        asked,
        engine=engine,
        export=ExportConfig(),
        model="base",
        model_digest=DIGEST,
    )
    assert document["items_digest"] == items_digest(document["suites"])
    assert document["suites"]["live_stream_qa"]["n"] == 3
    assert document["suites"]["instruction_following"]["n"] == 2


def rolled_out(server: SyncedServer, base_model: Path, harness: Harness, version: int) -> list:
    domain = get_domain(harness.domain)
    groups = plan_groups(harness, domain, SETTINGS, AugmentConfig(), seed=3)
    policy = ServedPolicy(
        server.served.url,
        server.served.model,
        AutoTokenizer.from_pretrained(base_model, local_files_only=True),
        max_new_tokens=12,
        concurrency=4,
        temperature=1.0,
        seed=5,
        answer_seconds=300,
        name="test",
    )
    return play_groups(policy, groups, [0, 0, 1, 1], domain, version)


@torch.no_grad()
def gap(model: torch.nn.Module, rollouts: list) -> float:
    """Mean distance between the server's log-probabilities and the model's own, at the sampled tokens."""
    distances = []
    for rollout in rollouts:
        ids = torch.tensor([rollout.prompt_ids + rollout.completion_ids])
        own = model(ids).logits[0].float().log_softmax(-1)
        for place, (token, segment, told) in enumerate(
            zip(rollout.completion_ids, rollout.segments, rollout.sampling_log_probs, strict=True)
        ):
            if segment:
                distances.append(abs(float(own[len(rollout.prompt_ids) + place - 1, token]) - told))
    return sum(distances) / len(distances)


def test_the_server_samples_from_the_weights_that_it_was_given_last(
    server: SyncedServer, base_model: Path, harness: Harness
) -> None:
    model = (
        AutoModelForCausalLM.from_pretrained(base_model, dtype=torch.bfloat16, local_files_only=True)
        .to(compute_dtype())
        .eval()
    )
    server.sync(model, 0)
    server.check(model, 0)
    first = rolled_out(server, base_model, harness, 0)
    assert {rollout.policy_version for rollout in first} == {0}
    assert gap(model, first) < 0.1
    with torch.no_grad():
        model.model.norm.weight.mul_(0.5)  # exact in bfloat16, and every distribution becomes much flatter
    assert gap(model, first) > 0.3  # the changed model is far from the one that was sampled
    with pytest.raises(EnvironmentFailure, match="of policy version 0, the model's of 1"):
        server.check(model, 1)
    server.sync(model, 1)
    server.check(model, 1)
    assert gap(model, rolled_out(server, base_model, harness, 1)) < 0.1


def test_training_syncs_after_each_step_and_stamps_its_rollouts(
    server: SyncedServer, base_model: Path, harness: Harness, tmp_path: Path
) -> None:
    domain = get_domain(harness.domain)
    groups = plan_groups(harness, domain, SETTINGS, AugmentConfig(), seed=4)
    server.version = -1
    log = tmp_path / "log.jsonl"
    train_rl(
        base_model,
        groups,
        domain,
        SETTINGS,
        work=tmp_path / "work",
        log=log,
        seed=0,
        engine=RolloutEngine(server, concurrency=4, answer_seconds=300),
    )
    steps = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [step["policy_version"] for step in steps if "policy_version" in step] == [0, 1]
