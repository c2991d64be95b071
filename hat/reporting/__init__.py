"""The report of a run: collected from the store, rendered as one HTML file and a short Markdown verdict."""

from pathlib import Path

from hat.files import write_text_atomic
from hat.reporting.collect import collect_run
from hat.reporting.headline import headline_metrics
from hat.reporting.markdown import render_verdict
from hat.reporting.model import RunReport
from hat.reporting.render import render_report
from hat.storage import Store

__all__ = ["RunReport", "collect_run", "headline_metrics", "render_report", "render_verdict", "write_report"]


def write_report(store: Store, run: str, out_path: Path) -> None:
    """Write a run's report to ``out_path`` and its Markdown verdict beside it, with the suffix ``.md``.

    Raises:
        EnvironmentFailure: the files cannot be written. Absent or broken documents only shorten the report.
    """
    report = collect_run(store, run)
    write_text_atomic(Path(out_path), render_report(report))
    write_text_atomic(Path(out_path).with_suffix(".md"), render_verdict(report))
