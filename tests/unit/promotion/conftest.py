"""The evidence maker of tests/data/evidence, and ways to judge what it makes."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hat.promotion.documents import EvaluationDocument, EvidenceSubject, LatencyDocument
from hat.promotion.evidence import Evidence
from hat.promotion.policy import GatePolicies, load_policies
from hat.promotion.verdict import Verdict, decide

EVIDENCE = Path(__file__).parents[2] / "data" / "evidence"


@pytest.fixture(scope="session")
def evidence_folders() -> Path:
    return EVIDENCE


@pytest.fixture(scope="session")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_evidence", EVIDENCE / "make_evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def policies() -> GatePolicies:
    return load_policies(EVIDENCE / "gate.yaml")


@pytest.fixture(scope="session")
def judge(policies: GatePolicies) -> Callable[..., Verdict]:
    """Judges documents in memory, by the example policy with some fields replaced."""

    def judge(documents: dict[str, Any], **changes: Any) -> Verdict:
        subject = documents.get("subject.json")

        def of(folder: str) -> dict[str, EvaluationDocument]:
            return {
                Path(name).stem: EvaluationDocument.model_validate(document)
                for name, document in documents.items()
                if Path(name).parent == Path(folder)
            }

        latency = documents.get("latency.json")
        training = documents.get("training_items.json")
        evidence = Evidence(
            subject=None if subject is None else EvidenceSubject.model_validate(subject),
            evaluations=of("evaluation"),
            before=of("attribution"),
            seeds=of("evaluation/seeds"),
            latency=None if latency is None else LatencyDocument.model_validate(latency),
            training_digests=None if training is None else frozenset(training["task_digests"]),
            problems=(),
            digest="",
        )
        policy = policies.policy("example")
        changed = type(policy).model_validate({**policy.model_dump(), **changes})
        return decide(changed, evidence, environment="example")

    return judge
