"""The pair that a channel of `channels.yaml` names, as a folder that an engine serves.

An engine's pod runs this before the engine starts. It asks the store alone: no registry, no Git.
"""

import tempfile
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.models import ModelRef
from hat.promotion.ledger import history
from hat.runs.harness_archive import fetch_harness
from hat.runs.places import open_run_store
from hat.serving.command import export_model
from hat.serving.config import ExportConfig
from hat.storage import Store


class ChannelPair(BaseModel):
    """One channel, as `hat watch` writes it from the ledger."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    environment: str
    """Whose ledger."""
    sequence: int
    """Number of the ledger's entry."""
    version: str
    harness_digest: str
    model_digest: str


def read_channel(path: Path, channel: str) -> ChannelPair:
    """The pair of one channel.

    Raises:
        BadInput: no such file or channel, or a malformed one.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        channels = document["channels"]
        if channel not in channels:
            raise BadInput(
                f"the channel {channel!r} has no pair",
                where=str(path),
                mend="It gets one with the first promotion; `hat watch` then writes this file.",
            )
        return ChannelPair.model_validate(channels[channel])
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from error
    except (yaml.YAMLError, ValidationError, TypeError, KeyError) as error:
        raise BadInput(
            "not a file of channels", where=str(path), mend="Restore it: only `hat watch` writes it."
        ) from error


def export_channel(
    path: Path, harness: str, channel: str, target: str, out: Path, settings: ExportConfig | None = None
) -> dict[str, Any]:
    """Write the channel's model for ``target`` to the folder ``out``; nothing to do if it holds that pair already.

    A file beside the folder says which pair it holds, so that a pod's container may start again.

    Raises:
        BadInput: as `read_channel`; the ledger has no such pair; ``out`` holds something else.
        EnvironmentFailure: the store or the disk fails.
    """
    pair = read_channel(path, channel)
    note = out.with_name(f"{out.name}.channel.json")
    if out.exists() and note.is_file():
        done: dict[str, Any] = read_json(note)
        if done["pair"] == pair.model_dump() and done["exported"]["target"] == target:
            return dict(done["exported"])
    store = open_run_store()
    model = _model(store, harness, pair, path)
    with tempfile.TemporaryDirectory(prefix="hat-channel-") as scratch:
        registry = Path(scratch) / "registry"
        folder = registry / harness / "versions" / pair.version
        folder.mkdir(parents=True)
        fetch_harness(store, harness, pair.version, pair.harness_digest, folder)
        reference = Path(scratch) / "model.json"
        model.write(reference)
        exported = export_model(
            str(reference),
            target,
            out,
            registry=registry,
            reference=f"{harness}@{pair.version}",
            settings=settings,
        )
    write_json_atomic(note, {"schema_version": 1, "pair": pair.model_dump(), "exported": exported})
    return exported


def _model(store: Store, harness: str, pair: ChannelPair, path: Path) -> ModelRef:
    """The model's reference, from the ledger's entry; only a promoted pair is served."""
    for entry in history(store, pair.environment, harness):
        if entry.sequence == pair.sequence:
            named = (entry.version, entry.harness_digest, entry.model_digest)
            if named == (pair.version, pair.harness_digest, pair.model_digest):
                return ModelRef.model_validate(entry.model)
    raise BadInput(
        f"the ledger of {pair.environment} has no such entry {pair.sequence} of {harness}",
        where=str(path),
        mend="Check HAT_STORE, and that the file is the one `hat watch` wrote.",
    )
