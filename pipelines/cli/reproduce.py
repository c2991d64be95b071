"""`hat reproduce`: the paper's table on one's own machines, in units of work that never run twice."""

import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json

if TYPE_CHECKING:
    from hat.reproduce.run import Code
    from hat.reproduce.units import Plan, Unit

HARNESS = "live-shop@1.0.0"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    suite: Annotated[str, typer.Option(help="core, full or smoke (minutes, a random model).")] = "core",
    arm: Annotated[
        list[str] | None, typer.Option(help="An arm, e.g. fixed_sft; again for more. Default: all.")
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(min=0, help="A training seed; again for more. Default: each arm's own."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="UNIT", help="Only this unit; again for more.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where result files go. Default: below HAT_HOME."),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Show the units and where they stand.")] = False,
    collect: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Make the table of the result files in DIR.")
    ] = None,
    harness: Annotated[
        str, typer.Option(metavar="NAME[@VERSION]", help="Harness that models are trained on.")
    ] = HARNESS,
    profile: Annotated[
        str | None, typer.Option(help="Profile, or YAML file, that trains. Default: the suite's.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting in every unit.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Whose items: dev to develop, test once. Default: the suite's.")
    ] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Train and measure the arms of the paper's comparison, or make the table of what is measured."""
    from hat.errors import BadInput
    from hat.home import hat_home
    from hat.reproduce.measurements import suite as find_suite
    from hat.reproduce.planning import make_plan
    from hat.reproduce.units import units_of
    from hat.runs.config import parse_overrides
    from pipelines.profile import load_profile

    if show_list and collect is not None:
        raise BadInput("--list and --collect are two different things to show", mend="Give one of them.")
    chosen = load_profile(profile or find_suite(suite).profile)
    values = {**chosen.stages, "profile": chosen.name}
    folder = registry_folder(registry)
    plan = make_plan(suite, harness, folder, values, parse_overrides(settings or []), split)
    units = units_of(plan, arm or (), seed or (), only or ())
    place = collect or results or hat_home() / "reproduce" / f"{suite}-{plan.split}"
    if collect is not None:
        _collect(plan, units, place, json_output)
    elif show_list:
        _list(plan, units, place, json_output)
    else:
        _run(plan, units, folder, place)


def _run(plan: "Plan", units: "list[Unit]", registry: Path, place: Path) -> None:
    from hat.reproduce.run import run_units
    from pipelines.cli.reproduce_show import Progress

    signal.signal(signal.SIGTERM, _interrupt)
    with Progress(err(), plan, units, place) as view:
        failures = run_units(units, plan, registry, place, _code(), view)
    if failures:
        raise typer.Exit(max(failure.exit_status for failure in failures))
    out().print(f"The table: hat reproduce --suite {plan.suite.name} --collect {place}", soft_wrap=True)


def _code() -> "Code":
    from hat.reproduce.run import Code
    from pipelines.version import checkout, code_version

    commit, dirty = checkout()
    return Code(code_version(), commit, dirty, shlex.join(["hat", *sys.argv[1:]]))


def _list(plan: "Plan", units: "list[Unit]", place: Path, json_output: bool) -> None:
    from hat.reproduce.status import minutes_left, status_of
    from pipelines.cli.reproduce_show import print_statuses

    statuses = [status_of(plan, unit, place) for unit in units]
    if not json_output:
        print_statuses(statuses, minutes_left(statuses), place, out())
        return
    listed = [
        {
            "unit": each.unit.id,
            "state": each.state,
            "reason": each.reason,
            "needs": list(each.unit.needs),
            "minutes": each.unit.minutes,
        }
        for each in statuses
    ]
    document = {"schema_version": 1, "suite": plan.suite.name, "split": plan.split, "units": listed}
    print_json({**document, "minutes_left": round(minutes_left(statuses), 1)})


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _collect(plan: "Plan", units: "list[Unit]", place: Path, json_output: bool) -> None:
    from hat.files import write_text_atomic
    from hat.reporting.reproduction import render_markdown, render_page
    from hat.reproduce.table import collect
    from pipelines.cli.reproduce_show import print_table, table_json

    table = collect(place, plan, units)
    write_text_atomic(place / "table.md", render_markdown(table))
    write_text_atomic(place / "table.html", render_page(table))
    if json_output:
        print_json(table_json(table))
        return
    print_table(table, out())
    out().print(f"Written: {place / 'table.md'} and {place / 'table.html'}", soft_wrap=True)
