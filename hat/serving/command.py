"""What `hat export` does: any model, as a folder that vLLM or Triton serves."""

from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.files import read_json
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.models import ModelRef, ModelStore
from hat.models.folder import check_model_folder, model_manifest
from hat.promotion.evidence import evaluation_file, load_evidence
from hat.runs.places import open_run_store
from hat.serving.card import CardFacts
from hat.serving.config import ExportConfig
from hat.serving.document import ExportDocument, ExportedHarness


def export_model(
    model: str,
    target: str,
    out: Path,
    *,
    registry: Path,
    reference: str = "",
    evidence: Path | None = None,
    settings: ExportConfig | None = None,
) -> dict[str, Any]:
    """Write the folder ``out`` and return what was exported, as JSON.

    Args:
        model: a Hugging Face folder, or a file that holds a ModelRef or the export of a run.
        target: ``vllm`` or ``triton``.
        reference: ``NAME[@VERSION]`` of the harness that the model is for; a run's export names its own.
        evidence: an evidence folder whose candidate is this model; its numbers go into the card.
        settings: a run's export has its own.

    Raises:
        BadInput: an unknown target, model, harness or evidence, or ``out`` is there already.
        EnvironmentFailure: the disk is full.
    """
    from hat.serving.export import (
        NAME_WITHOUT_HARNESS,
        TARGETS,
        staging,
        tools_of,
        write_export,
        write_serving_model,
    )

    known = {each: each for each in TARGETS}
    if target not in known:
        raise BadInput(f"no target {target!r}", where="--target", mend=f"Known: {', '.join(known)}.")
    harness = _harness(registry, reference)
    exported = _read_export(model)
    if exported is not None:
        if reference or settings is not None:
            raise BadInput("the export has its own harness and settings", where=model, mend="Leave them out.")
        config, source, about = exported.settings, exported.source, exported.harness
        stages, name = exported.stages, exported.name
    else:
        config, source = settings or ExportConfig(), _source(model)
        about = (
            None
            if harness is None
            else ExportedHarness(name=harness.name, version=harness.version, digest=harness.digest)
        )
        stages, name = (), config.name or (harness.name if harness else NAME_WITHOUT_HARNESS)
    facts = CardFacts(
        name=name,
        source=source,
        harness=about,
        stages=stages,
        license=config.license,
        evaluation=None if evidence is None else _evaluation(evidence, source),
    )
    with staging(out.parent) as folder:
        if exported is not None:
            serving = ModelStore(open_run_store()).materialise(exported.model)
        else:
            serving = folder / "model"
            write_serving_model(
                _folder(model, source), serving, max_model_len=config.max_model_len, tools=tools_of(harness)
            )
        write_export(known[target], serving, facts, config, out)
        digest = model_manifest(serving).digest
    return {
        "schema_version": 1,
        "target": target,
        "folder": str(out),
        "name": name,
        "model_digest": digest,
        "source_digest": source.digest,
        "harness": None if about is None else about.model_dump(),
    }


def _harness(registry: Path, reference: str) -> Harness | None:
    if not reference:
        return None
    known = Registry(registry)
    return known.load(*known.parse(reference))


def _read_export(model: str) -> ExportDocument | None:
    """The run's export in that file; None when it holds something else."""
    path = Path(model)
    if not path.is_file():
        return None
    value = read_json(path)
    return ExportDocument.read(path) if isinstance(value, dict) and value.get("kind") == "export" else None


def _source(model: str) -> ModelRef:
    path = Path(model)
    if path.is_file():
        return ModelRef.read(path)
    check_model_folder(path)
    return ModelRef(digest=model_manifest(path).digest, base="")  # a folder does not tell what it was made of


def _folder(model: str, source: ModelRef) -> Path:
    path = Path(model)
    return ModelStore(open_run_store()).materialise(source) if path.is_file() else path


def _evaluation(folder: Path, source: ModelRef) -> Any:
    """The candidate's evaluation, if it is this model's."""
    evidence = load_evidence(folder)
    document = evidence.evaluations.get("candidate")
    if document is None:
        raise BadInput("the evidence has no readable evaluation of a candidate", where=str(folder))
    if document.model_digest != source.digest:
        raise BadInput(
            f"the evidence is about the model {document.model_digest[:12]}, not {source.digest[:12]}",
            where=str(folder),
            mend="Give the evidence of the run that made this model.",
        )
    return read_json(Path(folder) / evaluation_file("candidate"))
