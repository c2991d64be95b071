"""The evidence behind each promotion, kept in the store so that any verdict can be recomputed later."""

import json
from pathlib import Path

from hat.promotion.evidence import LATENCY, SUBJECT, Evidence, evaluation_file
from hat.promotion.ledger import LedgerEntry
from hat.storage import NotFound, Store


def archive_evidence(store: Store, folder: Path, evidence: Evidence) -> str:
    """Keep an evidence folder's documents at ``evidence/<digest>/`` and return that key.

    Only what the digest covers is kept. Keeping the same evidence again is a no-op.

    Raises:
        EnvironmentFailure: the store fails.
    """
    names = [SUBJECT, LATENCY, *(evaluation_file(role) for role in evidence.evaluations)]
    if evidence.subject is not None and evidence.subject.training_items is not None:
        names.append(evidence.subject.training_items)
    place = evidence_place(evidence.digest)
    store.put_tree(Path(folder), place, tuple(name for name in names if (Path(folder) / name).is_file()))
    return place


def evidence_place(digest: str) -> str:
    """Where evidence with that digest is kept in the store."""
    return f"evidence/{digest}"


def trained_on(store: Store, entry: LedgerEntry) -> frozenset[str] | None:
    """Digests of the items that the entry's model was trained on; None when its evidence is not kept.

    Raises:
        EnvironmentFailure: the store fails.
    """
    place = evidence_place(entry.evidence_digest)
    try:
        name = json.loads(store.get(f"{place}/{SUBJECT}"))["training_items"]
        if name is None:
            return None
        return frozenset(json.loads(store.get(f"{place}/{name}"))["task_digests"])
    except NotFound:
        return None
