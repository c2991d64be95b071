"""Packages a model for vLLM and Triton: published to the store by the pipeline, or written to a folder."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import yaml

from hat.errors import BadInput
from hat.files import as_environment_failure, write_text_atomic
from hat.harness.model import Harness
from hat.harness.render import render_tools
from hat.home import hat_home
from hat.models import ModelRef, ModelStore
from hat.models.folder import model_files
from hat.serving.card import CardFacts, model_card
from hat.serving.config import ExportConfig
from hat.serving.document import ExportDocument, ExportedHarness
from hat.serving.engines import (
    TRITON_REPOSITORY,
    TRITON_WEIGHTS,
    VLLM_SETTINGS,
    triton_engine_arguments,
    triton_model_config,
    vllm_arguments,
)
from hat.serving.model_folder import PROBE_TOOL, write_serving_model
from hat.storage import Store
from hat.storage.tree import scan

Target = Literal["vllm", "triton"]
TARGETS: tuple[Target, ...] = ("vllm", "triton")
NAME_WITHOUT_HARNESS = "agent"
SERVING_NOTE = "weights rounded to bfloat16 for serving"


def publish_export(
    models: ModelStore, source: ModelRef, harness: Harness, config: ExportConfig, stages: Sequence[str]
) -> ExportDocument:
    """Store a model as engines load it, and what vLLM and Triton need beside it, each once.

    Raises:
        BadInput: the model cannot be served; see `write_serving_model`.
        EnvironmentFailure: the disk is full or the store fails. Nothing is half-published.
    """
    facts = CardFacts(
        name=config.name or harness.name,
        source=source,
        harness=ExportedHarness(name=harness.name, version=harness.version, digest=harness.digest),
        stages=stages,
        license=config.license,
    )
    with staging(hat_home() / "cache" / "export") as folder:
        write_serving_model(
            models.materialise(source),
            folder / "model",
            max_model_len=config.max_model_len,
            tools=tools_of(harness),
        )
        notes = "; ".join(note for note in (source.notes, SERVING_NOTE) if note)
        reference = models.publish(folder / "model", base=source.base, notes=notes)
        places = {target: _publish_files(models.store, folder, target, facts, config) for target in TARGETS}
    return ExportDocument(
        name=facts.name,
        model=reference,
        source=source,
        harness=facts.harness,
        stages=tuple(stages),
        settings=config,
        vllm=places["vllm"],
        triton=places["triton"],
    )


def write_export(
    target: Target, serving_model: Path, facts: CardFacts, config: ExportConfig, out: Path
) -> None:
    """Write a folder that the engine serves: its files, and a copy of ``serving_model``'s.

    ``out`` appears only when it is complete.

    Raises:
        BadInput: ``out`` exists and is not empty.
        EnvironmentFailure: the disk is full or ``out`` cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput("the folder exists already", where=str(out), mend="Name one that does not.")
    with staging(out.parent) as folder:
        complete = folder / "complete"
        weights = complete if target == "vllm" else complete / TRITON_WEIGHTS
        _write_files(complete, engine_files(target, facts, config))
        try:
            weights.mkdir(parents=True, exist_ok=True)
            for name in model_files(serving_model):
                shutil.copyfile(serving_model / name, weights / name)
            os.replace(complete, out)
        except OSError as error:
            raise as_environment_failure(error, out) from error


def engine_files(target: Target, facts: CardFacts, config: ExportConfig) -> Mapping[str, str]:
    """Relative path -> text of what an engine's folder holds beside the model."""
    files = {"README.md": model_card(facts)}
    if target == "vllm":
        settings = vllm_arguments(facts.name, facts.source.digest, config)
        files[VLLM_SETTINGS] = yaml.safe_dump(settings, sort_keys=False)
    else:
        place = f"{TRITON_REPOSITORY}/{facts.name}"
        files[f"{place}/config.pbtxt"] = triton_model_config(facts.name, facts.source.digest)
        files[f"{place}/1/model.json"] = json.dumps(triton_engine_arguments(config), indent=2) + "\n"
    return files


def tools_of(harness: Harness | None) -> list[Mapping[str, Any]]:
    """The tools that an exported template must render."""
    tools = render_tools(harness) if harness is not None else []
    return list(tools) or [PROBE_TOOL]


@contextmanager
def staging(parent: Path) -> Iterator[Path]:
    """A folder below ``parent`` that is gone afterwards."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=".export-"))
    except OSError as error:
        raise as_environment_failure(error, parent) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish_files(store: Store, folder: Path, target: Target, facts: CardFacts, config: ExportConfig) -> str:
    _write_files(folder / target, engine_files(target, facts, config))
    place = f"exports/{scan(folder / target).digest}"
    store.put_tree(folder / target, place)
    return place


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        write_text_atomic(folder / name, text)
