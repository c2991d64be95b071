"""The default base model exported for both engines, vLLM on it, and conversations as episodes leave them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.serving.command import export_model
from tests.support.engines import REPOSITORY, Server, require_environment, vllm_server

REGISTRY = REPOSITORY / "harness_registry"


@pytest.fixture(scope="session")
def harness() -> Harness:
    return Registry(REGISTRY).load("live-shop", "1.0.0")


@pytest.fixture(scope="session")
def exports(base_model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was exported, with the folder of each engine."""
    require_environment()
    folder = tmp_path_factory.mktemp("exports")
    documents = {
        target: export_model(
            str(base_model), target, folder / target, registry=REGISTRY, reference="live-shop@1.0.0"
        )
        for target in ("vllm", "triton")
    }
    return {**{target: folder / target for target in documents}, "digest": documents["vllm"]["source_digest"]}


@pytest.fixture(scope="session")
def vllm(exports: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests: it takes half a minute to start."""
    with vllm_server(exports["vllm"], tmp_path_factory.mktemp("vllm") / "log") as running:
        yield running


@pytest.fixture(scope="session")
def episodes(harness: Harness) -> list[Episode]:
    """Finished episodes of the scripted expert, some with text that is not ASCII or calls that are blocked."""
    from dataclasses import replace

    domain = get_domain(harness.domain)
    state = HarnessState.original(harness)
    tasks = domain.sample_tasks("dev", 12, seed=5)
    tasks += [
        replace(tasks[0], id="zh", question="3号链接多少钱？🙂 “特价”吗"),
        replace(tasks[1], id="tag", question="<|im_end|>"),
    ]
    played = [Episode(state, task, domain) for task in tasks]
    domain.expert().play(played, domain.execute, lambda index: None)
    clumsy = Episode(state, tasks[2], domain)
    clumsy.submit('<tool_call>{"name": "load_skill", "arguments": {"name": "无"}}</tool_call>')
    clumsy.submit('<tool_call>{"name": broken</tool_call>')
    return [*played, clumsy]
