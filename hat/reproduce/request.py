"""What the command hands to the process that does a unit's work, and what that process hands back."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

REQUEST, CONFIG, OUTCOME, LOG = "request.json", "config.json", "outcome.json", "unit.log"
"""Files in a unit's working folder."""


class Request(BaseModel):
    """One unit of work."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: str
    step: str
    """The pipeline's step that trains, or ``evaluate``."""
    harness: str
    version: str
    registry: Path
    """Registry folder of the harness that models are trained on."""
    start: dict[str, Any] | None
    """ModelRef of the model that it works on; None: the base model."""
    evaluate: dict[str, Any] = {}
    """Settings of the evaluation."""
    full_suites: tuple[str, ...] = ()
    """Full suites that are asked in place of those in the settings."""
    items: int = 0
    """Items of each full suite; 0: its own number."""
    divergence: int = 0
    """General prompts on which the model is compared with the base."""
    versions: dict[str, str] = {}
    """Digests of the harness versions that are asked, where they are not the one trained on."""


class Outcome(BaseModel):
    """What came of it; the rows lie beside it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_digest: str
    start_digest: str
    model: dict[str, Any] | None = None
    rows: tuple[dict[str, Any], ...]
    steps: tuple[dict[str, Any], ...]
    """Name, status and seconds of each step."""
    platform: str
    hardware: str
