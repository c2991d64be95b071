"""Evaluates a model on vLLM: the same items, episodes and scores as in-process, many episodes at once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hat.agent.policies.config import EndpointConfig
from hat.agent.policies.endpoint import EndpointPolicy
from hat.augment.test_use import log_test_use
from hat.domains.base import Domain
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.run import evaluate_policy
from hat.evaluation.suites import build_suites
from hat.harness.model import Harness
from hat.serving.config import EngineConfig, ExportConfig
from hat.serving.vllm_server import Served, served_model


def evaluate_served(
    model_folder: Path,
    harness: Harness,
    domain: Domain,
    config: EvaluateConfig,
    *,
    engine: EngineConfig,
    export: ExportConfig,
    model: str,
    model_digest: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """The evaluation document of a model folder; see `hat.evaluation.run.evaluate_policy`.

    Raises:
        BadInput: vLLM is not there, the model cannot be served, or no suite has an item.
        EnvironmentFailure: vLLM does not come up, or stops answering.
    """
    if config.split == "test":
        items = [item for suite in build_suites(harness, domain, config).values() for item in suite]
        log_test_use(f"evaluate {model}", harness, [item.state for item in items])
    with served_model(model_folder, harness, model_digest, export, engine) as served:
        policy = EndpointPolicy(endpoint_of(served, engine, config.max_new_tokens))
        plain = EndpointPolicy(endpoint_of(served, engine, config.instruction_tokens))

        def generate(prompts: Sequence[str]) -> list[str]:
            return plain.reply_to([[{"role": "user", "content": prompt}] for prompt in prompts])

        document = evaluate_policy(policy, harness, domain, config, generate=generate, progress=progress)
    return {**document, "model": model, "model_digest": model_digest}


def endpoint_of(served: Served, engine: EngineConfig, max_new_tokens: int) -> EndpointConfig:
    """How episodes ask the server: greedily, for the raw text, so that calls are parsed as strictly as in-process."""
    return EndpointConfig(
        url=f"{served.url}/v1",
        model=served.model,
        concurrency=engine.concurrency,
        timeout_seconds=engine.answer_seconds,
        max_new_tokens=max_new_tokens,
        raw_calls=True,
    )
