"""`hat export`: a model as a folder that vLLM or Triton serves."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Model folder, or file that holds a ModelRef or a run's export."
        ),
    ],
    target: Annotated[str, typer.Option("--target", help="vllm or triton.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder to make; it must not exist.")],
    harness: Annotated[
        str, typer.Option("--harness", metavar="NAME[@VERSION]", help="The harness that the model is for.")
    ] = "",
    evidence: Annotated[
        Path | None, typer.Option("--evidence", help="Evidence folder; its numbers go into the model card.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. max_model_len=4096."),
    ] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Write a model as a folder that vLLM or Triton serves."""
    from hat.runs.config import apply_overrides, parse_config, parse_overrides
    from hat.serving.command import export_model
    from hat.serving.engines import triton_command, vllm_command

    overrides = {f"export.{key}": value for key, value in parse_overrides(settings or []).items()}
    given = parse_config(apply_overrides({}, overrides), where="--set").export if overrides else None
    with err().status("exporting"):
        document = export_model(
            model,
            target,
            folder,
            registry=registry_folder(registry),
            reference=harness,
            evidence=evidence,
            settings=given,
        )
    if json_output:
        print_json(document)
        return
    command = vllm_command() if target == "vllm" else triton_command()
    out().print(f"Exported {document['name']} to {folder}. Serve it with:", soft_wrap=True)
    out().print(f"cd {folder} && {command}", soft_wrap=True)
