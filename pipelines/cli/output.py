"""What commands print: results on stdout, everything else on stderr."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

_PIPE_WIDTH = 200
"""Columns where there is no terminal: wide enough for no line of ours to be cut."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")]


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def out() -> Console:
    """For results that people read."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def err() -> Console:
    """For progress and remarks."""
    return Console(stderr=True, highlight=False)
