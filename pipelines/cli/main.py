"""The entry point of `hat`: all command groups, and the one place where errors become messages."""

import errno
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import typer
import typer.core

from hat.errors import HatError
from pipelines.cli import (
    augment,
    augment_show,
    compiling,
    evaluate,
    export,
    export_channel,
    gate,
    harness,
    production,
    reproduce,
    reword,
    run,
    runs,
    schedule,
    serve,
    watch,
)
from pipelines.cli.streams import guard_standard_streams

INTERRUPTED = 130
_OF_STANDARD_OUTPUT = (errno.ENOSPC, errno.EBADF)


class _Commands(typer.core.TyperGroup):
    """Also finds commands of two words, such as `augment verify` beside `augment NAME`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        two = " ".join(args[:2])
        return super().resolve_command(ctx, [two, *args[2:]] if two in self.commands else args)


app = typer.Typer(
    name="hat",
    cls=_Commands,
    help="Harness-Aware Training: prove each harness version with the model in production, or train one.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for module in (
    run,
    augment,
    augment_show,
    reword,
    compiling,
    watch,
    runs,
    evaluate,
    reproduce,
    gate,
    production,
    export,
    export_channel,
    serve,
):
    module.register(app)
app.add_typer(harness.app)
app.add_typer(schedule.app)


def main() -> None:
    """Run the command line; every error is one message on stderr and an exit status."""
    guard_standard_streams()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except HatError as error:
        sys.stderr.write(f"hat: {error}\n")
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.stderr.write("hat: interrupted\n")
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last place: a traceback is for the log, not for a user
        sys.stderr.write(f"hat: {_explained(error) or _unexpected(error)}\n")
        sys.exit(4)


def _explained(error: Exception) -> str:
    """A refusal of the system that no command expected: a full standard output, a name that is too long."""
    if not isinstance(error, OSError) or error.strerror is None:
        return ""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return f"standard output: {error.strerror}" if error.errno in _OF_STANDARD_OUTPUT else ""


def _unexpected(error: Exception) -> str:
    return f"unexpected {type(error).__name__}: {error}. {_keep_traceback()}"


def _keep_traceback() -> str:
    """Append the traceback to a log and say where."""
    from hat.home import hat_home

    path = hat_home() / "errors.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as handle:
            handle.write(f"{datetime.now(UTC).isoformat()} {' '.join(sys.argv)}\n{traceback.format_exc()}\n")
    except OSError:
        return "Its traceback could not be written."
    return f"Please report it with {path}"
