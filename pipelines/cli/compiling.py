"""`hat compile` and `hat submit`: the pipeline as a file, and on a cluster."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines.cli.options import HarnessArgument, RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json

ImageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--image", metavar="FAMILY=REFERENCE", help="Image of a family, pinned: cpu=NAME@sha256:..."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("compile")(compile_command)
    app.command("submit")(submit)


def compile_command(
    folder: Annotated[Path, typer.Option("--out", help="Folder to write to.")],
    profile: Annotated[str | None, typer.Option(help="One profile; default: all.")] = None,
    image: ImageOption = None,
) -> None:
    """Write the pipeline of each profile as a package that Kubeflow Pipelines loads."""
    from pipelines.compile import compile_profile
    from pipelines.profile import profile_names

    if not image:
        err().print(
            "Image parameters have no default: whoever starts a run must give them, pinned by digest."
        )
    for name in [profile] if profile else profile_names():
        out().print(str(compile_profile(name, folder, _images(image))), soft_wrap=True)


def submit(
    harness: HarnessArgument,
    endpoint: Annotated[str, typer.Option(help="Address of the Kubeflow Pipelines API.")],
    profile: Annotated[str, typer.Option(help="Name of a profile, or a YAML file.")] = "h20",
    mode: Annotated[Literal["auto", "train", "screen"], typer.Option(help="As for `hat run`.")] = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="As for `hat run`.")
    ] = None,
    image: ImageOption = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace of a multi-user Kubeflow.")] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Publish a harness version to the store and start a run of it on a cluster."""
    from hat.harness.registry import Registry, parse_reference
    from hat.runs.config import parse_overrides
    from pipelines.start import RunRequest
    from pipelines.submit import submit_run

    name, version = parse_reference(harness)
    request = RunRequest(name, version, profile, mode, parse_overrides(settings or []))
    submitted = submit_run(request, Registry(registry_folder(registry)), endpoint, _images(image), namespace)
    if json_output:
        print_json(submitted)
    else:
        out().print(f"{submitted['run_name']}: {submitted['run_id']}", soft_wrap=True)


def _images(pairs: list[str] | None) -> dict[str, str]:
    from hat.errors import BadInput

    images = {}
    for pair in pairs or []:
        family, separator, reference = pair.partition("=")
        if not separator:
            raise BadInput(f"{pair!r} is not FAMILY=REFERENCE", where="--image")
        images[family] = reference
    return images
