"""Promotes the pair of a finished run by hand, by the same step that the pipeline uses."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.promotion import ledger
from hat.runs.compose import read_entries, read_output
from hat.runs.places import RUN, open_run_store
from hat.runs.record import read_record
from hat.steps.promote import run as promote


def promote_run(run: str, *, reason: str = "") -> dict[str, Any]:
    """The ledger entry of the pair that ``run`` proved.

    Args:
        reason: kept in the entry; empty: what the step says of the verdict.

    Raises:
        BadInput: no such run, or its verdict is not PASS.
        StaleBaseline: another pair went into production since, or after this one.
    """
    store = open_run_store()
    record = read_record(store, run)
    if record.verdict != "PASS":
        mend = "Only a pair that passed the gate can go into production."
        raise BadInput(f"the run's verdict is {record.verdict or 'missing'}", where=run, mend=mend)
    entries = read_entries(store, run)
    judged = entries.get("decide") or entries["screen"]
    model = entries["rl"] if "decide" in entries else entries["screen"]
    documents = {
        "config": read_output(store, entries["resolve"], "config_out"),
        "subject": read_output(store, entries["resolve"], "subject_out"),
        "model_in": read_output(store, model, "model_out"),
        "verdict": read_output(store, judged, "verdict_out"),
    }
    os.environ[RUN] = run  # the ledger names the run that proved the pair
    with TemporaryDirectory(prefix="hat-promote-") as folder:
        paths = {name: Path(folder) / name for name in documents}
        for name, path in paths.items():
            write_json_atomic(path, documents[name])
        promotion = Path(folder) / "promotion"
        promote(
            **{name: str(path) for name, path in paths.items()}, promotion_out=str(promotion), reason=reason
        )
        entry: dict[str, Any] = read_json(promotion)
    if entry.get("promoted") is False:
        raise BadInput(entry["reason"], where=run, mend="Going back is what `hat rollback` is for.")
    head = ledger.production(store, entry["environment"], entry["harness"])
    if head is not None and head.sequence != entry["sequence"]:
        raise ledger.StaleBaseline(
            f"the run's pair was promoted before, as entry {entry['sequence']}; in production is entry "
            f"{head.sequence}, {head.harness}@{head.version}",
            where=run,
            mend="Going back is what `hat rollback` is for.",
        )
    return entry
