"""What the linter's rules look at: a version as read, what its domain offers, and its parent."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hat.agent.checks import GENERAL_CHECKS
from hat.domains.base import get_domain, made_from_harness
from hat.harness.load import MANIFEST, Reading
from hat.harness.model import LOAD_SKILL, LOAD_SKILL_ARGUMENT, Harness

EPISODE_CHECKS = ("calls_well_formed", "too_many_calls")
"""Checks that the episode itself makes; a hook only words their message."""


@dataclass(frozen=True)
class DomainTerms:
    """What a harness may refer to in its domain."""

    name: str
    operations: Mapping[str, tuple[str, ...]] | None
    """Operation to its arguments, `load_skill` included; None where the harness's own tools define them."""
    intents: tuple[str, ...]
    session_values: frozenset[str]
    checks: frozenset[str]


@dataclass(frozen=True)
class Subject:
    """One version under the linter."""

    reading: Reading
    terms: DomainTerms | None
    """None when the domain is unknown."""
    parent: Harness | None = None

    @property
    def manifest_path(self) -> Path:
        return self.reading.folder / MANIFEST

    def line(self, *place: str | int) -> int:
        """A line of harness.yaml."""
        source = self.reading.manifest_source
        return source.line(*place) if source else 1

    @cached_property
    def complete(self) -> bool:
        """True when every tool and skill could be read, so that an unknown name is really unknown."""
        return self.reading.harness is not None or not any(
            problem.severity == "error" and Path(problem.file) != self.manifest_path
            for problem in self.reading.problems
        )

    @cached_property
    def tool_names(self) -> frozenset[str]:
        manifest = self.reading.manifest
        return frozenset(manifest.bindings if manifest else (entry.tool.name for entry in self.reading.tools))


def domain_terms(name: str) -> DomainTerms:
    """The terms of a domain.

    Raises:
        BadInput: there is no such domain.
    """
    domain = get_domain(name)
    return DomainTerms(
        name=name,
        operations=None
        if made_from_harness(domain)
        else {**domain.operations, LOAD_SKILL: (LOAD_SKILL_ARGUMENT,)},
        intents=domain.intents,
        session_values=frozenset(domain.sample_session(0, "train")),
        checks=frozenset((*GENERAL_CHECKS, *domain.checks, *EPISODE_CHECKS)),
    )
