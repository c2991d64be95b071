"""The small document that names an export: which model, made from what, under which harness."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.models.reference import ModelRef
from hat.schema_version import SchemaVersion
from hat.serving.config import ExportConfig
from hat.validation import first_problem


class ExportedHarness(BaseModel):
    """The harness version that the model was made for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: str
    digest: str


class ExportDocument(BaseModel):
    """What the export step writes; with the store's models it is enough to write a folder for any engine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: SchemaVersion = 1
    kind: Literal["export"] = "export"
    name: str
    """What engines call the model."""
    model: ModelRef
    """The model to serve: the weights rounded to bfloat16, everything else as trained."""
    source: ModelRef
    """The model that it was made from, which evaluation, gate and ledger name."""
    harness: ExportedHarness | None
    """None when the model was exported without a harness."""
    stages: tuple[str, ...]
    """The training behind the model, in words."""
    settings: ExportConfig
    """How it was exported."""
    vllm: str
    """Where the store keeps vLLM's settings and the model card; the weights are ``model``'s."""
    triton: str
    """Where the store keeps the Triton model repository; the weights are ``model``'s."""

    def write(self, path: Path) -> None:
        """Write the document as JSON, atomically."""
        write_json_atomic(path, self.model_dump(mode="json"))

    @staticmethod
    def read(path: Path) -> "ExportDocument":
        """Read the document. Raises `BadInput` when it is absent or malformed."""
        try:
            return ExportDocument.model_validate(read_json(path))
        except ValidationError as error:
            raise BadInput(f"not an export: {first_problem(error)}", where=str(path)) from error
