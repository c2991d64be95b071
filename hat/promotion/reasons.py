"""The closed list of things a verdict can say, and which way each of them points."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """Which way a reason points. One FAILED makes FAIL, else one UNPROVEN makes INCONCLUSIVE."""

    MET = "met"
    NOTED = "noted"
    UNPROVEN = "unproven"
    FAILED = "failed"


class ReasonCode(StrEnum):
    """Why. Each code has one outcome (see `OUTCOMES`)."""

    MET = "MET"
    REPORTED = "REPORTED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    WARMUP_EXCLUDED = "WARMUP_EXCLUDED"
    ATTRIBUTION = "ATTRIBUTION"

    BELOW_BAR = "BELOW_BAR"
    REGRESSION = "REGRESSION"
    SLICE_REGRESSION = "SLICE_REGRESSION"
    SLICE_BELOW_BAR = "SLICE_BELOW_BAR"
    SEED_BELOW_BAR = "SEED_BELOW_BAR"
    LATENCY_ABOVE_LIMIT = "LATENCY_ABOVE_LIMIT"
    LEAKED_ITEMS = "LEAKED_ITEMS"

    NOT_PROVEN = "NOT_PROVEN"
    TOO_FEW_SAMPLES = "TOO_FEW_SAMPLES"
    MISSING_EVIDENCE = "MISSING_EVIDENCE"
    MALFORMED_EVIDENCE = "MALFORMED_EVIDENCE"
    EMPTY = "EMPTY"
    NOT_A_NUMBER = "NOT_A_NUMBER"
    INCONSISTENT = "INCONSISTENT"
    MISMATCHED_ITEMS = "MISMATCHED_ITEMS"
    HARNESS_MISMATCH = "HARNESS_MISMATCH"
    MODEL_MISMATCH = "MODEL_MISMATCH"
    ENVIRONMENT_MISMATCH = "ENVIRONMENT_MISMATCH"
    ENGINE_NOT_ALLOWED = "ENGINE_NOT_ALLOWED"
    HARDWARE_NOT_ALLOWED = "HARDWARE_NOT_ALLOWED"
    LOAD_MISMATCH = "LOAD_MISMATCH"
    SHARED_DEVICE = "SHARED_DEVICE"


_MET = {ReasonCode.MET}
_NOTED = {
    ReasonCode.REPORTED,
    ReasonCode.NOT_APPLICABLE,
    ReasonCode.WARMUP_EXCLUDED,
    ReasonCode.ATTRIBUTION,
}
_FAILED = {
    ReasonCode.BELOW_BAR,
    ReasonCode.REGRESSION,
    ReasonCode.SLICE_REGRESSION,
    ReasonCode.SLICE_BELOW_BAR,
    ReasonCode.SEED_BELOW_BAR,
    ReasonCode.LATENCY_ABOVE_LIMIT,
    ReasonCode.LEAKED_ITEMS,
}
OUTCOMES: Mapping[ReasonCode, Outcome] = {
    code: (
        Outcome.MET
        if code in _MET
        else Outcome.NOTED
        if code in _NOTED
        else Outcome.FAILED
        if code in _FAILED
        else Outcome.UNPROVEN
    )
    for code in ReasonCode
}


@dataclass(frozen=True)
class Reason:
    """One finding: its code, what it is about (`suite.metric`, `latency.p90`, a file), and a sentence."""

    code: ReasonCode
    metric: str
    message: str
    numbers: Mapping[str, float | int] = field(default_factory=dict)
    """What was measured and asked, for tables: `estimate`, `low`, `high`, `n`, `bar`, `needed_n`, ..."""
    soft: bool = False
    """Whether the policy asked only to be told: then it is noted, whatever was found."""

    @property
    def outcome(self) -> Outcome:
        """Which way it points; what is soft never decides."""
        return Outcome.NOTED if self.soft else OUTCOMES[self.code]

    def with_severity(self, severity: str) -> "Reason":
        """The same finding, for a criterion of that severity (`hard` or `soft`)."""
        return replace(self, soft=severity == "soft")

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code.value,
            "metric": self.metric,
            "message": self.message,
            "outcome": self.outcome.value,
            "soft": self.soft,
            "numbers": {name: round(value, 4) for name, value in self.numbers.items()},
        }
