"""What a pull request brings: each new version with its difference and what the pipeline will do about it."""

from dataclasses import dataclass
from typing import Any

from hat.domains.base import get_domain, made_from_harness
from hat.harness.diff import diff_harnesses
from hat.harness.diffing.change import Difference
from hat.harness.diffing.present import summary
from hat.harness.diffing.risk import highest
from hat.harness.immutability import versions_at
from hat.harness.problems import BadHarness
from hat.harness.registry import Registry


@dataclass(frozen=True)
class Reviewed:
    """One version that the base revision does not have."""

    harness: str
    version: str
    parent: str | None
    difference: Difference | None
    """None for a first version, and where one of the two cannot be read."""
    plan: str
    """What the pipeline will do."""

    def to_json(self) -> dict[str, Any]:
        document = None if self.difference is None else self.difference.to_json()
        risk = None if self.difference is None else highest(self.difference.changes)
        return {
            "harness": self.harness,
            "version": self.version,
            "parent": self.parent,
            "risk": risk,
            "plan": self.plan,
            "difference": document,
        }


def review(registry: Registry, revision: str) -> tuple[Reviewed, ...]:
    """The versions that are here and not at a Git revision, by harness and oldest first.

    Raises:
        BadInput: an unknown revision, or a registry outside of any Git repository.
        EnvironmentFailure: Git cannot be run.
    """
    known = versions_at(registry, revision)
    return tuple(
        _reviewed(registry, name, version)
        for name in registry.names()
        for version in registry.versions(name)
        if version not in known.get(name, frozenset())
    )


def _reviewed(registry: Registry, name: str, version: str) -> Reviewed:
    try:
        harness = registry.load(name, version)
    except BadHarness:
        return Reviewed(name, version, None, None, "nothing: the version has errors and cannot run")
    if made_from_harness(get_domain(harness.domain)):
        plan = (
            f"no run: `hat eval MODEL --harness {name}@{version}` evaluates a model under an imported version"
        )
        return Reviewed(name, version, harness.parent, None, plan)
    run = f"`hat run {name}@{version}`"
    if harness.parent is None:
        plan = (
            f"{run} finds no earlier version's model: it trains one under this version, and the gate decides"
        )
        return Reviewed(name, version, None, None, plan)
    try:
        parent = registry.load(name, harness.parent)
    except BadHarness:
        return Reviewed(name, version, harness.parent, None, f"{run} tries the model in production first")
    difference = diff_harnesses(parent, harness)
    plan = (
        f"{run} screens: the model in production is evaluated and timed under this version. If the gate passes, the "
        f"pair is promoted and nothing is trained; if it fails, a model is trained. {summary(difference)}"
    )
    return Reviewed(name, version, harness.parent, difference, plan)
