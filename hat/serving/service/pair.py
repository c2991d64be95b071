"""The pair that is served: one harness version and one model, with the engine that has the model."""

from dataclasses import dataclass
from typing import Any

from hat.augment.state import HarnessState
from hat.domains.base import Domain
from hat.serving.service.engine import ServedModel


@dataclass(frozen=True)
class ServedPair:
    """What one question is answered with, from its first turn to its last."""

    environment: str
    sequence: int
    """Number of the ledger's entry; 0 for a pair that is in no ledger."""
    state: HarnessState
    model_digest: str
    domain: Domain
    model: ServedModel

    def document(self) -> dict[str, Any]:
        """The pair as answers and evidence name it."""
        harness = self.state.canonical
        return {
            "environment": self.environment,
            "sequence": self.sequence,
            "harness": harness.name,
            "version": harness.version,
            "harness_digest": harness.digest,
            "model_digest": self.model_digest,
        }
