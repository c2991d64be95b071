"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated

import typer

RegistryOption = Annotated[
    Path | None,
    typer.Option("--registry", help="Folder of harnesses. Default: HAT_REGISTRY, else harness_registry."),
]
EnvironmentOption = Annotated[
    str, typer.Option("--environment", help="Whose ledger.", envvar="HAT_ENVIRONMENT", show_default=True)
]
HarnessArgument = Annotated[
    str, typer.Argument(metavar="NAME[@VERSION]", help="Harness, e.g. live-shop@1.0.0.")
]
DEFAULT_ENVIRONMENT = "laptop"


def registry_folder(given: Path | None) -> Path:
    """The registry's folder: as given, HAT_REGISTRY, or the nearest `harness_registry` from here upwards."""
    if given is not None:
        return given
    if named := os.environ.get("HAT_REGISTRY"):
        return Path(named)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "harness_registry").is_dir():
            return folder / "harness_registry"
    return here / "harness_registry"
