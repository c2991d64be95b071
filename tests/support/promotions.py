"""Puts pairs into production in a test's store, with no run behind them."""

from pathlib import Path

from hat.harness.registry import Registry
from hat.promotion.ledger import LedgerEntry, Proposal, promote
from hat.runs.harness_archive import publish_harness
from hat.storage import Store

REGISTRY = Path(__file__).parents[2] / "harness_registry"


def put_into_production(store: Store, version: str, model: str, head: int) -> LedgerEntry:
    """Publish that version of the live shop and promote it with the model of that digest, after entry ``head``."""
    harness = publish_harness(store, Registry(REGISTRY), "live-shop", version)
    proposal = Proposal(
        environment="laptop",
        harness="live-shop",
        version=version,
        harness_digest=harness.digest,
        model={"digest": model},
        run=f"run-{head}",
        verdict_digest="v",
        evidence_digest="e",
        who="test",
        when="2026-01-01T00:00:00Z",
    )
    return promote(store, proposal, expected_head=head)
