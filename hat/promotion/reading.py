"""Reading what people write beside a harness (gate.yaml, channels.yaml): strictly, every problem with its line."""

from collections.abc import Sequence
from pathlib import Path

from hat.errors import BadInput
from hat.harness.problems import Problem, Problems
from hat.harness.reading.lined import Lined
from hat.harness.reading.strict_yaml import parse_yaml

_LARGEST_CHARACTERS = 200_000


def parse_lined(text: str, *, where: str) -> Lined:
    """The document with the line of each of its parts; ``where`` is the file's name, for messages.

    Raises:
        BadInput: not YAML, a key twice or not text, an alias, an unsafe tag, nested too deeply, or too long.
    """
    if len(text) > _LARGEST_CHARACTERS:
        raise BadInput(f"longer than {_LARGEST_CHARACTERS} characters", where=where)
    problems = Problems()
    document = parse_yaml(text, Path(where), problems)
    if document is None:
        raise refusal(problems.sorted(), where=where)
    return document


def refusal(problems: Sequence[Problem], *, where: str, mend: str = "") -> BadInput:
    """One error that names every problem at its line."""
    if len(problems) == 1:
        return BadInput(problems[0].message, where=f"{where}:{problems[0].line}", mend=mend)
    listed = "; ".join(f"{where}:{problem.line}: {problem.message}" for problem in problems)
    return BadInput(f"{len(problems)} problems: {listed}", where=where, mend=mend)
