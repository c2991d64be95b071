"""`hat runs` and `hat report`: what ran, and how to read about it."""

import webbrowser
from typing import Annotated

import typer

from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("runs")(runs)
    app.command("report")(report)


def runs(json_output: JsonFlag = False) -> None:
    """List runs, newest first."""
    from rich.table import Table

    from hat.runs.places import open_run_store
    from hat.runs.record import list_records

    readable, unreadable = list_records(open_run_store())
    for error in unreadable:
        err().print(f"warning: {error}", markup=False, soft_wrap=True)
    records = [record.as_seen_now() for record in readable]
    if json_output:
        print_json([record.model_dump(mode="json") for record in records])
        return
    if not records and not unreadable:
        out().print("no run has been made yet")
        return
    table = Table("run", "profile", "status", "verdict", "trained", "promoted", box=None)
    for record in records:
        table.add_row(
            record.run,
            record.profile,
            record.status,
            record.verdict or "",
            "yes" if record.trained else "no",
            "yes" if record.promoted else "no",
        )
    out().print(table)


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, as `hat runs` lists it.")],
    open_report: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Say where a run's HTML report is, or open it."""
    from hat.errors import BadInput
    from hat.runs.places import open_run_store
    from hat.runs.record import read_record, report_key

    store = open_run_store()
    record = read_record(store, run)
    if not record.report:
        raise BadInput("the run has no report", where=run, mend="It is written when a run ends.")
    # Not where the record says: a store may have been moved since.
    key = report_key(run)
    if not store.exists(key):
        raise BadInput(
            "the run's report is gone", where=f"{store.url} {key}", mend="Restore it from a backup."
        )
    path = store.local_path(key)
    out().print(str(path or f"{store.url}/{key}"), soft_wrap=True)
    if open_report:
        webbrowser.open(path.as_uri() if path else f"{store.url}/{key}")
