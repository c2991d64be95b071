"""`hat compile` and `hat submit`: the pipeline as a file, and on a cluster."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines.cli.cluster_options import (
    EndpointOption,
    ExperimentOption,
    ImageOption,
    NamespaceOption,
    TokenFileOption,
    parse_images,
)
from pipelines.cli.options import HarnessArgument, RegistryOption, registry_folder, run_settings
from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("compile")(compile_command)
    app.command("submit")(submit)


def compile_command(
    folder: Annotated[Path, typer.Option("--out", help="Folder to write to.")],
    profile: Annotated[str | None, typer.Option(help="One profile; default: all.")] = None,
    image: ImageOption = None,
    commit: Annotated[
        str | None,
        typer.Option(help="What the pipeline version is named after. Default: the commit of the sources."),
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace of the Kubernetes manifests.")] = None,
) -> None:
    """Write each profile's pipeline: a package that Kubeflow Pipelines loads, and Kubernetes manifests of it."""
    from pipelines.compile import compile_profile
    from pipelines.profile import profile_names

    if not image:
        err().print(
            "Image parameters have no default: whoever starts a run must give them, pinned by digest."
        )
    for name in [profile] if profile else profile_names():
        compiled = compile_profile(name, folder, parse_images(image), commit=commit, namespace=namespace)
        out().print(str(compiled.package), soft_wrap=True)
        out().print(str(compiled.manifests), soft_wrap=True)


def submit(
    harness: HarnessArgument,
    endpoint: EndpointOption,
    profile: Annotated[str, typer.Option(help="Name of a profile, or a YAML file.")] = "h20",
    mode: Annotated[Literal["auto", "train", "screen"], typer.Option(help="As for `hat run`.")] = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="As for `hat run`.")
    ] = None,
    image: ImageOption = None,
    namespace: NamespaceOption = None,
    experiment: ExperimentOption = None,
    token_file: TokenFileOption = None,
    caching: Annotated[
        bool | None,
        typer.Option(
            "--caching/--no-caching", help="Kubeflow's own cache for all steps. Default: as compiled."
        ),
    ] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Publish a harness version to the store and start a run of it on a cluster."""
    from hat.harness.registry import Registry
    from pipelines.kubeflow import Address
    from pipelines.start import RunRequest
    from pipelines.submit import Target, submit_run

    known = Registry(registry_folder(registry))
    name, version = known.parse(harness)
    request = RunRequest(name, version, profile, mode, run_settings(settings))
    target = Target(Address(endpoint, namespace, token_file), parse_images(image), experiment, caching)
    submitted = submit_run(request, known, target)
    if json_output:
        print_json(submitted)
    else:
        out().print(f"{submitted['run_name']}: {submitted['run_id']}", soft_wrap=True)
