"""An imported harness is evaluated in the domain that its own tools and skills make."""

import json
from pathlib import Path

import pytest

from hat.domains.base import domain_of
from hat.errors import BadInput
from hat.evaluation.command import evaluate_model
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.run import evaluate_policy
from hat.harness.exchange.imports import import_harness
from hat.harness.registry import Registry
from hat.runs.harness_archive import publish_harness
from hat.storage import open_store
from tests.support.tiny_model import write_tiny_model

TOOLS = {
    "tools": [
        {
            "name": "find_user",
            "description": "Find a user by name",
            "inputSchema": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "page": {"type": "integer", "minimum": 1}},
                "required": ["name"],
            },
        },
        {
            "name": "close_ticket",
            "description": "Close a ticket of the help desk",
            "inputSchema": {
                "type": "object",
                "properties": {"ticket": {"type": "integer"}, "reason": {"enum": ["done", "duplicate"]}},
                "required": ["ticket", "reason"],
            },
        },
    ]
}
FEW = EvaluateConfig(
    live_stream_qa=6, harness_variant_qa=6, tool_prompt_robustness=6, instruction_following=0
)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    source = tmp_path / "tools.json"
    source.write_text(json.dumps(TOOLS), encoding="utf-8")
    registry = Registry(tmp_path / "registry")
    import_harness(registry, source, "desk", "1.0.0")
    return registry


def test_the_expert_is_right_in_every_suite_and_knowing_names_by_heart_is_not_enough(
    registry: Registry,
) -> None:
    harness = registry.load("desk")
    domain = domain_of(harness)
    suites = evaluate_policy(domain.expert(), harness, domain, FEW)["suites"]
    assert {name: (suite["n"], suite["accuracy"]) for name, suite in suites.items()} == {
        "live_stream_qa": (6, 1.0),
        "harness_variant_qa": (6, 1.0),
        "tool_prompt_robustness": (6, 1.0),
    }
    kinds = [item["kind"] for item in suites["tool_prompt_robustness"]["items"]]
    assert kinds == ["distractor_tools", "faults"] * 3
    assert suites["harness_variant_qa"]["baseline_accuracy"] < 1


def test_a_model_folder_is_evaluated_under_it(registry: Registry, tmp_path: Path, base_model: Path) -> None:
    model = write_tiny_model(tmp_path / "model", base_model)
    document = evaluate_model(
        str(model),
        "desk@1.0.0",
        registry=registry.root,
        suites=("live_stream_qa", "harness_variant_qa"),
        settings=FEW.model_copy(update={"live_stream_qa": 2, "harness_variant_qa": 2, "max_new_tokens": 8}),
    )
    assert (document["harness"], document["version"]) == ("desk", "1.0.0")
    assert {name: suite["n"] for name, suite in document["suites"].items()} == {
        "live_stream_qa": 2,
        "harness_variant_qa": 2,
    }
    assert all(suite["accuracy"] == 0 for suite in document["suites"].values())


def test_no_run_is_made_of_it(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="runs are not made in the domain declared_tools"):
        publish_harness(open_store(str(tmp_path / "store")), registry, "desk", None)
