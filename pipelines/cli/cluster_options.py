"""Options of the commands that talk to a Kubeflow cluster."""

from pathlib import Path
from typing import Annotated

import typer

from hat.errors import BadInput

EndpointOption = Annotated[
    str, typer.Option(help="Address of the Kubeflow Pipelines API.", envvar="HAT_KUBEFLOW")
]
NamespaceOption = Annotated[str | None, typer.Option(help="Namespace of a multi-user Kubeflow.")]
ExperimentOption = Annotated[
    str | None, typer.Option(help="Experiment of the runs. Default: the harness's name.")
]
TokenFileOption = Annotated[
    Path | None, typer.Option(help="File with a bearer token; read again for every request.")
]
ImageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--image", metavar="FAMILY=REFERENCE", help="Image of a family, pinned: cpu=NAME@sha256:..."
    ),
]


def parse_images(pairs: list[str] | None) -> dict[str, str]:
    """FAMILY=REFERENCE texts as a dictionary. Raises `BadInput`."""
    images = {}
    for pair in pairs or []:
        family, separator, reference = pair.partition("=")
        if not separator:
            raise BadInput(f"{pair!r} is not FAMILY=REFERENCE", where="--image")
        images[family] = reference
    return images
