"""Where the pair to serve comes from: the ledger's head, or one pair named beforehand."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hat.errors import EnvironmentFailure
from hat.harness.model import Harness
from hat.promotion.ledger import check_name, production
from hat.runs.harness_archive import fetch_harness
from hat.storage import Store


@dataclass(frozen=True)
class WantedPair:
    """The pair that should be served."""

    environment: str
    sequence: int
    harness: str
    version: str
    harness_digest: str
    model_digest: str

    def same_pair(self, other: "WantedPair") -> bool:
        """Whether serving changes not at all from one to the other."""
        mine = (self.harness, self.harness_digest, self.model_digest)
        return mine == (other.harness, other.harness_digest, other.model_digest)


@dataclass(frozen=True)
class PairSource:
    """Blocking calls, both; they raise `hat.errors.HatError` when the store fails."""

    wanted: Callable[[], WantedPair | None]
    """The pair that should be served now; None: nothing is in production."""
    load: Callable[[WantedPair], Harness]
    """Its harness."""


def ledger_source(store: Store, environment: str, harness: str) -> PairSource:
    """What the ledger of (environment, harness) has in production. Raises `BadInput` for names that no ledger has."""

    check_name(environment)
    check_name(harness)
    seen = 0

    def wanted() -> WantedPair | None:
        nonlocal seen
        entry = production(store, environment, harness)
        sequence = entry.sequence if entry else 0
        if sequence < seen:
            # An empty folder looks like this when its disk is not mounted.
            raise EnvironmentFailure(
                f"the ledger ended with entry {seen} and now ends with {sequence}: entries are missing",
                where=f"{environment}/{harness}",
            )
        seen = sequence
        if entry is None:
            return None
        return WantedPair(
            environment, entry.sequence, harness, entry.version, entry.harness_digest, entry.model_digest
        )

    def load(pair: WantedPair) -> Harness:
        with tempfile.TemporaryDirectory(prefix="hat-harness-") as folder:
            return fetch_harness(
                store, pair.harness, pair.version, pair.harness_digest, Path(folder) / "files"
            )

    return PairSource(wanted, load)


def fixed_source(environment: str, harness: Harness, model_digest: str) -> PairSource:
    """One pair, such as a candidate that is to be measured before it is promoted."""
    pair = WantedPair(environment, 0, harness.name, harness.version, harness.digest, model_digest)
    return PairSource(lambda: pair, lambda _: harness)
