"""A problem in a harness's files: which rule, where, what is wrong; and the error that carries several."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hat.errors import BadInput
from hat.harness.rules import RULES

Severity = Literal["error", "warning", "info"]
SHOWN_IN_ONE_MESSAGE = 5


@dataclass(frozen=True, order=True)
class Problem:
    """One finding. ``line`` counts from 1; a problem of a whole file stands at line 1."""

    file: str
    line: int
    rule: str
    severity: Severity
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message} [{self.rule}]"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Problems:
    """Collects what is found while reading on, so that every problem is reported at once."""

    found: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._known = set(self.found)
        self._errors = errors_of(self.found)

    def add(self, rule: str, file: object, message: str, line: int = 1) -> None:
        """Note a problem under a rule of `hat.harness.rules.RULES`, which sets its severity."""
        problem = Problem(
            _printable(str(file)), max(line, 1), rule, RULES[rule].severity, _printable(message)
        )
        if problem not in self._known:
            self._known.add(problem)
            self.found.append(problem)
            self._errors += errors_of((problem,))

    @property
    def errors(self) -> list[Problem]:
        return self._errors

    def sorted(self) -> tuple[Problem, ...]:
        return tuple(sorted(self.found))


class BadHarness(BadInput):
    """A harness that cannot be used; ``problems`` has every problem, the message the first few."""

    def __init__(self, problems: Iterable[Problem], *, where: str) -> None:
        self.problems = tuple(problems)
        errors = errors_of(self.problems)
        if len(errors) == 1:
            error = errors[0]
            mend = f"`hat harness lint --explain {error.rule}` says more."
            super().__init__(f"{error.message} [{error.rule}]", where=f"{error.file}:{error.line}", mend=mend)
            return
        listed = "; ".join(map(str, errors[:SHOWN_IN_ONE_MESSAGE]))
        rest = len(errors) - SHOWN_IN_ONE_MESSAGE
        more = f"; and {rest} more" if rest > 0 else ""
        mend = f"`hat harness lint {where}` lists everything."
        super().__init__(f"{len(errors)} problems: {listed}{more}", where=where, mend=mend)


def errors_of(problems: Iterable[Problem]) -> list[Problem]:
    """Those that make the harness unusable."""
    return [problem for problem in problems if problem.severity == "error"]


def _printable(text: str) -> str:
    """File names and messages may carry bytes that are no text; reports must still be writable."""
    return text.encode("utf-8", "replace").decode("utf-8")
