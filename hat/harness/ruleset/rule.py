"""One rule of the linter and its documentation."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rule:
    """A rule and its documentation."""

    id: str
    severity: Literal["error", "warning", "info"]
    summary: str
    explanation: str
    """Why it matters and how to mend a finding."""
