"""A tiny trained-looking model, and the harness it is served under."""

from pathlib import Path

import pytest

from hat.harness.model import Harness
from hat.harness.registry import Registry
from tests.support.tiny_model import write_tiny_model

REGISTRY = Path(__file__).parents[3] / "harness_registry"


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory, base_model: Path) -> Path:
    """A random Llama in fp32 with the default base's tokenizer and template. Read only."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "model", base_model)


@pytest.fixture(scope="session")
def harness() -> Harness:
    return Registry(REGISTRY).load("live-shop", "1.0.0")
