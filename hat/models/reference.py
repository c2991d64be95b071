"""The small document by which pipeline steps pass a model to each other."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.schema_version import SchemaVersion
from hat.validation import first_problem


def prefix_of(digest: str) -> str:
    """Where a store keeps the model of a digest."""
    return f"models/{digest}"


class ModelRef(BaseModel):
    """Names a Hugging Face folder stored once, at ``models/<digest>/``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: SchemaVersion = 1
    kind: Literal["model"] = "model"
    digest: str = Field(pattern="^[0-9a-f]{64}$")
    """Hex SHA-256 over weights, configuration, tokenizer and chat template (`hat.models.folder`)."""
    base: str
    """The pretrained model it comes from."""
    notes: str = ""
    """What a reader of a result must know, such as that weights were dequantised."""

    @property
    def prefix(self) -> str:
        """Where the store keeps the folder."""
        return prefix_of(self.digest)

    def write(self, path: Path) -> None:
        """Write the reference as JSON, atomically."""
        write_json_atomic(path, self.model_dump())

    @staticmethod
    def read(path: Path) -> "ModelRef":
        """Read a reference. Raises `BadInput` when it is absent or malformed."""
        try:
            return ModelRef.model_validate(read_json(path))
        except ValidationError as error:
            raise BadInput(f"not a model reference: {first_problem(error)}", where=str(path)) from error
