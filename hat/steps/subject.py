"""What a run is about: the harness, the model to start from and the pair in production."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.harness.model import Harness
from hat.storage import Store
from hat.validation import first_problem


class Subject(BaseModel):
    """`subject.json`, made by `resolve` and read by every later step."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    """Version of this document's layout."""
    harness: str
    """The harness's name."""
    version: str
    """The harness's version."""
    harness_digest: str
    """Digest of the harness's files."""
    environment: str
    """Whose ledger a promotion goes to: a laptop never promotes for a cluster."""
    mode: Literal["auto", "train", "screen"]
    """What the user asked for."""
    plan: Literal["screen", "train"]
    """Whether the production model is tried first."""
    gate_policy: str
    """Text of the harness's `gate.yaml`."""
    base: dict[str, Any]
    """ModelRef of the model that training starts from."""
    production: dict[str, Any] | None = None
    """ModelRef of the model in production."""
    production_version: str | None = None
    """Harness version in production."""
    production_harness_digest: str | None = None
    """Digest of the harness in production."""
    production_run: str | None = None
    """The run that put it there."""
    allow_hook_commands: bool = False
    """Whether the profile lets hooks of type `command` run."""
    ledger_head: int = 0
    """Sequence number of the ledger's newest entry when the run began; 0 for none."""

    @staticmethod
    def read(path: str | Path) -> "Subject":
        """Read `subject.json`. Raises `BadInput` when it is absent or malformed."""
        try:
            return Subject.model_validate(read_json(Path(path)))
        except ValidationError as error:
            raise BadInput(f"malformed subject: {first_problem(error)}", where=str(path)) from error

    def write(self, path: str | Path) -> None:
        """Write `subject.json`."""
        write_json_atomic(Path(path), self.model_dump(mode="json"))

    def load_harness(self, store: Store) -> Harness:
        """The harness as published in the store, checked against its digest.

        Raises:
            BadInput: it is not there, or is not what the digest says.
        """
        from hat.runs.harness_archive import fetch_harness

        with TemporaryDirectory(prefix="hat-harness-") as folder:
            harness = fetch_harness(store, self.harness, self.version, self.harness_digest, Path(folder))
        return replace(harness, commands_allowed=self.allow_hook_commands)
