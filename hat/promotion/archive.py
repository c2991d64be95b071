"""The evidence behind each promotion, kept in the store so that any verdict can be recomputed later."""

import json
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure
from hat.promotion.evidence import SUBJECT, Evidence, evaluation_file, load_evidence
from hat.promotion.ledger import LedgerEntry
from hat.storage import NotFound, Store


def archive_evidence(store: Store, folder: Path, evidence: Evidence) -> str:
    """Keep an evidence folder's documents at ``evidence/<digest>/`` and return that key.

    Only what the digest covers is kept. Keeping the same evidence again is a no-op.

    Raises:
        EnvironmentFailure: the store fails.
    """
    place = evidence_place(evidence.digest)
    store.put_tree(Path(folder), place, evidence.names)
    return place


def fetch_evidence(store: Store, digest: str, folder: Path) -> None:
    """Copy kept evidence to ``folder``, which must not exist.

    Raises:
        BadInput: no evidence with that digest is kept.
        EnvironmentFailure: the store fails, or what it holds is not what was kept.
    """
    try:
        store.get_tree(evidence_place(digest), folder)
    except NotFound as error:
        mend = "`hat production NAME --history` shows the digest of each promotion's."
        raise BadInput("no such evidence is kept", where=f"{store.url} {digest}", mend=mend) from error
    found = load_evidence(folder).digest
    if found != digest:
        raise EnvironmentFailure(
            f"other evidence is kept in its place, with the digest {found}",
            where=f"{store.url} {evidence_place(digest)}",
            mend="It was replaced; restore it from a backup of the store.",
        )


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


def evaluated_at_promotion(store: Store, entry: LedgerEntry) -> bytes | None:
    """The evaluation of the entry's model under the entry's harness, as recorded; None when it is not kept.

    Raises:
        EnvironmentFailure: the store fails.
    """
    try:
        return store.get(f"{evidence_place(entry.evidence_digest)}/{evaluation_file('candidate')}")
    except NotFound:
        return None
