"""Real evolution: the same questions under each of a chain of later harness versions that no training has seen."""

from pathlib import Path

from hat.augment.state import HarnessState
from hat.augment.twins.base import HasTwins
from hat.domains.base import Domain, Task
from hat.errors import BadInput
from hat.evaluation.full_suites.settings import Suite, SuiteSettings
from hat.evaluation.items import SuiteItem
from hat.harness.model import Harness
from hat.harness.registry import Registry

NAME = "evolution"
ITEMS = 40
"""Questions, the same ones under each version."""
CHAIN = Path("benchmarks/evolution/registry")
"""Where the chain lies in a checkout: outside of `harness_registry/`, so that no trigger ever trains on it."""
_SEEDS = 2_000
"""Distance of its questions' seeds from those of the variants."""


def chain_registry() -> Path:
    """The folder of the chain.

    Raises:
        BadInput: this is no checkout, so there is none.
    """
    folder = Path(__file__).resolve().parents[3] / CHAIN
    if not folder.is_dir():
        raise BadInput(
            "the chain of later versions is not here",
            where=str(folder),
            mend="Run from a checkout of the repository; an installed package does not hold it.",
        )
    return folder


def later_versions(harness: Harness, registry: Path) -> list[Harness]:
    """The chain's versions after ``harness``, oldest first; the gold of each is its own.

    Raises:
        BadInput: the chain has no such harness, or none of its versions comes after.
    """
    chain = Registry(registry)
    later = [chain.load(harness.name, version) for version in chain.versions(harness.name)]
    later = [one for one in later if _number(one.version) > _number(harness.version)]
    if not later:
        raise BadInput(f"the chain has no version after {harness.version}", where=str(registry))
    return later


def evolution_suite(
    harness: Harness, domain: Domain, settings: SuiteSettings, registry: Path | None = None
) -> Suite:
    """The same questions under each later version; the kind of an item is its version.

    Raises:
        BadInput: see `chain_registry`, `later_versions`; or too few questions can be made.
    """
    count = settings.items or ITEMS
    tasks = domain.sample_tasks(settings.split, count, settings.first_seed + _SEEDS)
    return Suite(
        NAME,
        tuple(
            SuiteItem(
                NAME, with_gold_of(version, task, domain), HarnessState.original(version), version.version
            )
            for version in later_versions(harness, registry or chain_registry())
            for task in tasks
        ),
    )


def with_gold_of(harness: Harness, task: Task, domain: Domain) -> Task:
    """The task with the gold that this version's rules give it, where the domain can derive gold."""
    return domain.twins.rederive(task, harness) if isinstance(domain, HasTwins) else task


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
