"""The `gate` section of a run's settings."""

from pydantic import BaseModel, ConfigDict


class GateConfig(BaseModel):
    """How a run is decided. The criteria themselves are in the harness's `gate.yaml`, never here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    environment: str = ""
    """Which policy in `gate.yaml` decides, and whose ledger is written; empty: the profile's name."""
