"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

RegistryOption = Annotated[
    Path | None,
    typer.Option("--registry", help="Folder of harnesses. Default: HAT_REGISTRY, else harness_registry."),
]
EnvironmentOption = Annotated[
    str, typer.Option("--environment", help="Whose ledger.", envvar="HAT_ENVIRONMENT", show_default=True)
]
WordingsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Wordings of `hat reword`, used beside the hand-written ones."),
]
HarnessArgument = Annotated[
    str, typer.Argument(metavar="NAME[@VERSION]", help="Harness, e.g. live-shop@1.0.0.")
]
DEFAULT_ENVIRONMENT = "laptop"
_WORDINGS = "augment.wordings"


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


def run_settings(given: list[str] | None) -> dict[str, Any]:
    """What ``--set`` says of a run: {dotted key: value}.

    A file of wordings is read here, where it lies, and put in the store; the run gets its digest.

    Raises:
        BadInput: no `=`, or a file that holds no wordings.
        EnvironmentFailure: the store fails.
    """
    from hat.runs.config import parse_overrides

    overrides = parse_overrides(given or [])
    file = overrides.get(_WORDINGS)
    if isinstance(file, str):
        from hat.augment.wordings.document import read_wordings
        from hat.runs.places import open_run_store
        from hat.runs.wordings import publish_wordings

        del overrides[_WORDINGS]
        overrides[f"{_WORDINGS}_digest"] = publish_wordings(open_run_store(), read_wordings(Path(file)))
    return overrides
