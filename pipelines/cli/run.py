"""`hat run`: a harness version through the whole pipeline on this machine."""

import signal
from typing import Annotated, Literal

import typer

from pipelines.cli.options import HarnessArgument, RegistryOption, registry_folder, run_settings
from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    context: typer.Context,
    harness: HarnessArgument,
    profile: Annotated[str, typer.Option(help="Name of a profile, or a YAML file.")] = "laptop",
    mode: Annotated[
        Literal["auto", "train", "screen"],
        typer.Option(
            help="auto tries the model in production first; screen never trains; train always does."
        ),
    ] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting, e.g. sft.control=fixed."),
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with this run.")] = None,
    runner: Annotated[
        Literal["subprocess", "docker"],
        typer.Option(
            help="docker runs each step in its image, as a cluster does; `make images` builds them."
        ),
    ] = "subprocess",
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Screen a harness version with the model in production; train, judge and promote if that fails."""
    from hat.errors import BadInput
    from hat.harness.registry import Registry
    from pipelines.cli.summary import print_record
    from pipelines.deciding import until_decided
    from pipelines.start import RunRequest, resume_run, start_run

    signal.signal(signal.SIGTERM, _interrupt)
    known = Registry(registry_folder(registry))
    name, version = known.parse(harness)
    if resume is not None:
        for name, option in (("settings", "--set"), ("profile", "--profile"), ("mode", "--mode")):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                mend = "Leave it out, or start a new run."
                raise BadInput("a resumed run keeps its settings", where=option, mend=mend)
        record = resume_run(resume, harness, err(), runner)
    else:
        request = RunRequest(name, version, profile, mode, run_settings(settings))
        record = until_decided(lambda: start_run(request, known, err(), runner), err())
    print_record(record, err() if json_output else out())
    if json_output:
        print_json(record.model_dump(mode="json"))
    raise typer.Exit(record.exit_status)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
