"""What commands print: results on stdout, everything else on stderr."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from hat.errors import BadInput

_PIPE_WIDTH = 200
"""Columns where there is no terminal: wide enough for no line of ours to be cut."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")]


def refuse_both(first: str, second: str, *given: bool) -> None:
    """Two formats cannot both go to standard output.

    Raises:
        BadInput: all of ``given`` are set.
    """
    if all(given):
        raise BadInput(
            f"{first} and {second} are two formats for one standard output",
            mend="Give one of them; run the command again for the other.",
        )


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def out() -> Console:
    """For results that people read."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def err() -> Console:
    """For progress and remarks."""
    return Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _PIPE_WIDTH)
