"""`hat schedule`: runs that the cluster starts by the clock."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.cluster_options import (
    EndpointOption,
    ImageOption,
    NamespaceOption,
    TokenFileOption,
    parse_images,
)
from pipelines.cli.output import JsonFlag, out, print_json

app = typer.Typer(name="schedule", help="Runs that the cluster starts by the clock.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Runs that the cluster starts by the clock."""


@app.command("apply")
def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="E.g. pipelines/schedules.yaml.")],
    endpoint: EndpointOption,
    image: ImageOption = None,
    namespace: NamespaceOption = None,
    experiment: Annotated[
        str, typer.Option(help="Experiment of the scheduled runs; one file owns it.")
    ] = "hat-schedules",
    token_file: TokenFileOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Make the cluster's recurring runs what FILE says: create, change, enable, disable, delete."""
    from dataclasses import asdict

    from pipelines.kubeflow import Address
    from pipelines.scheduling import apply_schedules, read_schedules

    wanted = read_schedules(file)
    actions = apply_schedules(
        wanted, Address(endpoint, namespace, token_file), parse_images(image), experiment
    )
    if json_output:
        print_json([asdict(action) for action in actions])
        return
    for action in actions:
        out().print(f"{action.name}: {action.kind}", markup=False)
    if not actions:
        out().print("no schedules: none in the file, none on the cluster")
