"""`hat export-channel`: the pair in production as a folder that an engine serves, for an engine's pod."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export-channel")(export_channel)


def export_channel(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A harness's channels.yaml.")],
    harness: Annotated[str, typer.Option("--harness", metavar="NAME", help="The harness it belongs to.")],
    target: Annotated[str, typer.Option("--target", help="vllm or triton.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder to make.")],
    channel: Annotated[str, typer.Option(help="Which pair.")] = "production",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="As for `hat export`, e.g. enforce_eager=false."),
    ] = None,
    json_output: JsonFlag = False,
) -> None:
    """Write the model that a channel names as a folder that vLLM or Triton serves; asks the store alone."""
    from hat.runs.config import apply_overrides, parse_config, parse_overrides
    from hat.serving.channel import export_channel as export

    overrides = {f"export.{key}": value for key, value in parse_overrides(settings or []).items()}
    given = parse_config(apply_overrides({}, overrides), where="--set").export if overrides else None
    with err().status("exporting"):
        document = export(file, harness, channel, target, folder, given)
    if json_output:
        print_json(document)
    else:
        out().print(f"Exported {document['name']} to {folder}.", markup=False, soft_wrap=True)
