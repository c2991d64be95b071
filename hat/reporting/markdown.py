"""The verdict as a few lines of Markdown, for a pull request or a chat."""

import re

from hat.reporting.model import ROLES, ReasonLine, RunReport, Suite
from hat.reporting.render import headline, shown

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|<>~])")


def render_verdict(report: RunReport) -> str:
    """Verdict, what decided it, and the sets in a table."""
    title = f"# {headline(report)}: {plain(report.harness)}@{plain(report.version)}"
    lines = [title, "", plain(report.summary), ""]
    if report.error:
        lines += [plain(report.error), ""]
    deciding = [reason for reason in report.reasons if reason.outcome in ("failed", "unproven")]
    met = [reason for reason in report.reasons if reason.outcome == "met"]
    lines += [_reason(reason) for reason in deciding or met if not reason.is_slice or deciding]
    if report.suites:
        roles = [role for role in reversed(ROLES) if any(role in suite.scores for suite in report.suites)]
        lines += ["", f"| Set | {' | '.join(roles)} | no model |", "|---|" + "---|" * (len(roles) + 1)]
        lines += [_row(suite, roles) for suite in report.suites]
        lines += [
            "",
            "Accuracy in percent, 95% interval, number of items. The simulated domain is synthetic.",
        ]
    lines += ["", f"Run {plain(report.run)}"]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def plain(text: str) -> str:
    """An untrusted text on one line, with everything that Markdown or HTML would interpret escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(shown(text).split()))


def _reason(reason: ReasonLine) -> str:
    return f"- **{reason.outcome}** {plain(reason.metric)}: {plain(reason.message)}"


def _row(suite: Suite, roles: list[str]) -> str:
    cells = []
    for role in roles:
        score = suite.scores.get(role)
        if score is None:
            cells.append("–")
        else:
            interval = f"{100 * score.low:.1f} to {100 * score.high:.1f}"
            cells.append(f"{100 * score.accuracy:.1f} ({interval}), n={score.n}")
    reference = "–" if suite.reference is None else f"{100 * suite.reference:.1f}"
    return f"| {plain(suite.title)} | {' | '.join(cells)} | {reference} |"
