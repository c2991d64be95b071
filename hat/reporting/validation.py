"""The page of step `validate`: every expectation on the training data, and examples of what breaks it."""

from hat.reporting.render import environment
from hat.trajectories.validate import ValidationReport


def render_validation(report: ValidationReport, *, title: str) -> str:
    """The whole page, self-contained like the run's report."""
    return environment().get_template("validation.html.jinja").render(report=report, title=title)
