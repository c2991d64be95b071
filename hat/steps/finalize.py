"""Step `finalize`: writes the run's record and report from what the steps left in the store."""

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hat.reporting import headline_metrics, write_report
from hat.reporting.documents import read_documents
from hat.runs.compose import compose_record
from hat.runs.places import open_run_store, run_id
from hat.runs.record import RunRecord, read_record, record_key, report_key, write_record
from hat.storage import Store


def run(
    *,
    harness: str,
    version: str,
    mode: str,
    overrides: str,
    code_version: str,
    profile: str,
    succeeded: bool,
    verdict_out: str,
    report_out_html: str,
) -> dict[str, float]:
    """Write `runs/<run>/record.json` and `report.html`, also after a failure.

    Args:
        verdict_out: where the verdict is written as Markdown, for the Kubeflow UI.
        report_out_html: where the report is written, for the Kubeflow UI.

    Returns:
        Metric -> value, for the Kubeflow UI (see `headline_metrics`).
    """
    store = open_run_store()
    if store.exists(record_key(run_id())):
        begun = read_record(store, run_id())
    else:  # on a cluster nobody wrote a record when the run began
        begun = RunRecord(
            run=run_id(),
            harness=harness,
            version=version,
            code_version=code_version,
            profile=profile,
            mode=mode,
            overrides=json.loads(overrides),
            started=now(),
        )
    finish(store, begun)
    store.get_file(report_key(run_id()), Path(report_out_html))
    store.get_file(f"runs/{run_id()}/report.md", Path(verdict_out))
    return headline_metrics(read_documents(store, run_id()))


def finish(store: Store, begun: RunRecord) -> RunRecord:
    """Compose, complete and write the record, then the report that is made from it."""
    key = report_key(begun.run)
    update = {"finished": now(), "report": str(store.local_path(key) or f"{store.url}/{key}")}
    record = compose_record(store, begun).model_copy(update=update)
    write_record(store, record)
    with TemporaryDirectory(prefix="hat-report-") as folder:
        report = Path(folder) / "report.html"
        write_report(store, begun.run, report)
        for path in sorted(Path(folder).iterdir()):
            store.put_file(path, f"runs/{begun.run}/{path.name}")
    return record


def now() -> str:
    """The time in UTC, ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
