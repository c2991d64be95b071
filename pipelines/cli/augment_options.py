"""Options that the commands on harness states share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from hat.augment.config import AugmentConfig
    from hat.domains.base import Split

SplitOption = Annotated[Literal["train", "dev", "test"], typer.Option(help="Whose vocabulary and banks.")]
FamilyOption = Annotated[
    list[str] | None,
    typer.Option(help="A family, e.g. T1; again for more. Default: all that are legal in the split."),
]


def chosen_config(
    split: "Split", families: list[str] | None, wordings: Path | None, **settings: Any
) -> "AugmentConfig":
    """The settings of full augmentation with the families and the wordings that were named; with all families if none.

    Raises:
        BadInput: a family that does not exist or is not legal in the split, or a file that holds no wordings.
    """
    from pydantic import ValidationError

    from hat.augment.config import AugmentConfig
    from hat.errors import BadInput

    chosen: dict[str, Any] = {"families": tuple(families)} if families else {}
    if wordings is not None:
        from hat.augment.wordings.document import read_wordings

        chosen["wordings"] = read_wordings(wordings)
    try:
        return AugmentConfig.full(split, original_share=0, **chosen, **settings)
    except ValidationError as error:
        raise BadInput(str(error.errors()[0]["ctx"]["error"]), where="--family") from error
