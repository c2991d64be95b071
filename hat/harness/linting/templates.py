"""Session values in templates: each must be one that the domain gives, and stand where it is filled in."""

import re

from hat.harness.linting.subject import Subject
from hat.harness.linting.texts import model_texts
from hat.harness.problems import Problems
from hat.harness.reading.names import shown
from hat.harness.reading.templates import check_template

_OPENING = re.compile(r"\{\{|\{%")


def check_templates(subject: Subject, problems: Problems) -> None:
    """Needs a known domain for what is bound."""
    for text in model_texts(subject):
        if not text.filled:
            if _OPENING.search(text.text):
                problems.add("template-outside", text.file, "no session value is filled in here", text.line)
            continue
        if subject.terms is None:
            continue
        # What is malformed was noted when the file was read.
        for name in sorted(check_template(text.text, text.file, text.line, Problems())):
            if name not in subject.terms.session_values:
                known = ", ".join(sorted(subject.terms.session_values))
                message = f"no session value {shown(name)}; known: {known}"
                problems.add("template-unbound", text.file, message, text.line)
