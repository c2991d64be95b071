"""Renders a run's report as one self-contained HTML file: no script, no network, every text escaped."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hat.reporting.charts import distribution_plot, line_plot
from hat.reporting.collect import duration
from hat.reporting.model import ROLES, RunReport
from hat.reporting.quality import METRICS, title_of

TEMPLATES = Path(__file__).with_name("templates")
LONGEST_TEXT = 1200
"""Characters of one untrusted text that a page shows."""

TONES = {"failed": "fail", "unproven": "open", "met": "pass", "noted": "none"}
SIGNS = {"failed": "✕", "unproven": "?", "met": "✓", "noted": "·"}
VERDICTS = {"PASS": "met", "FAIL": "failed", "INCONCLUSIVE": "unproven", None: "noted"}
STATUS_TONES = {"ran": "pass", "cached": "pass", "skipped": "none", "failed": "fail", "running": "open"}

# Control characters, and those that reorder the text around them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def render_report(report: RunReport) -> str:
    """The whole page."""
    stages = [(stage, None if stage.skipped else line_plot(stage.curves)) for stage in report.training]
    metric_rows = _metric_rows(report)
    outcome = VERDICTS[report.verdict] if not report.error else "failed"
    return (
        environment()
        .get_template("run.html.jinja")
        .render(
            report=report,
            roles=ROLES,
            shown_roles=[role for role in ROLES if any(role in suite.scores for suite in report.suites)],
            word=headline(report),
            verdict_tone=TONES[outcome],
            verdict_sign="✕" if report.error else SIGNS[outcome],
            tones=TONES,
            signs=SIGNS,
            status_tones=STATUS_TONES,
            titles=title_of,
            sections=list(_sections(report)),
            metric_titles=METRICS,
            metric_names=[name for name in METRICS if any(name in row["metrics"] for row in metric_rows)],
            metric_rows=metric_rows,
            slices=[(key, list(group)) for key, group in groupby(report.slices, attrgetter("suite", "key"))],
            stages=stages,
            any_smooth=any(plot is not None and plot.window for _, plot in stages),
            distribution=distribution_plot(report.latency) if report.latency else None,
            failures=[(suite, list(group)) for suite, group in groupby(report.failures, attrgetter("suite"))],
            longest_step=max((step.seconds for step in report.steps), default=0.0),
        )
    )


def headline(report: RunReport) -> str:
    """The run in one word: its verdict, unless the run itself failed."""
    return "Failed" if report.error else report.verdict or "No verdict"


@cache
def environment() -> Environment:
    """Templates that escape everything and refuse unknown names."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        shown=shown,
        kept=kept,
        percent=_percent,
        points=_points,
        seconds=_seconds,
        duration=duration,
        height=_height,
        figure=_figure,
    )
    return made


def kept(value: object) -> str:
    """An untrusted text at its full length, with unseen characters made visible."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", str(value))


def shown(value: object) -> str:
    """An untrusted text with unseen characters made visible, and cut where it is too long to read."""
    text = kept(value)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({len(text) - LONGEST_TEXT} more characters)"


def _sections(report: RunReport) -> Iterator[tuple[str, str]]:
    parts: Sequence[tuple[str, str, Any]] = (
        ("reasons", "Why", report.reasons),
        ("quality", "Quality", report.suites),
        ("slices", "Slices", report.slices),
        ("training", "Training", report.training or report.data),
        ("latency", "Latency", report.latency),
        ("failures", "Failures", report.failures),
        ("steps", "Pipeline", report.steps),
        ("provenance", "Provenance", True),
    )
    return ((name, title) for name, title, there in parts if there)


def _metric_rows(report: RunReport) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for suite in report.suites:
        roles = [role for role in reversed(ROLES) if role in suite.scores and suite.scores[role].metrics]
        for role in roles:
            metrics = suite.scores[role].metrics
            rows.append({"suite": suite.title, "role": role, "metrics": metrics, "first": role == roles[0]})
    return rows


def _percent(share: float) -> str:
    """A fraction as a length, within 0 and 100%."""
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _seconds(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.2f} s"


def _figure(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.4g}"


def _height(name: str) -> str:
    """Where a percentile such as ``P90`` lies on the vertical axis of a distribution."""
    try:
        return f"{100 - float(name.removeprefix('P')):g}%"
    except ValueError:
        return "0%"
