"""What `hat eval` does: any model folder under any harness of any registry folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hat.domains.base import domain_of
from hat.errors import BadInput
from hat.evaluation.config import AGENT_SUITES, EvaluateConfig
from hat.harness.registry import Registry
from hat.models import ModelRef, ModelStore
from hat.models.folder import check_model_folder, model_manifest
from hat.nearest import known_names
from hat.runs.places import open_run_store

SUITES = (*AGENT_SUITES, "instruction_following", "ifeval")


def evaluate_model(
    model: str,
    reference: str,
    *,
    registry: Path,
    suites: Sequence[str] = (),
    settings: EvaluateConfig | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """The evaluation document of a model under a harness.

    Args:
        model: a Hugging Face folder, or a file that holds a ModelRef of the store.
        reference: ``NAME@VERSION``, or ``NAME`` for the newest version.
        suites: empty for all.

    Raises:
        BadInput: an unknown suite, harness or version, or not a whole model.
    """
    unknown = [suite for suite in suites if suite not in SUITES]
    if unknown:
        raise BadInput(f"no suite {unknown[0]!r}", where="--suite", mend=known_names(unknown[0], SUITES))
    known = Registry(Path(registry))
    harness = known.load(*known.parse(reference))
    folder, digest = _locate(model)
    config = settings or EvaluateConfig()
    # Only now: all that can be wrong was found without loading a model library.
    from hat.evaluation.run import evaluate

    return evaluate(
        folder,
        harness,
        domain_of(harness),
        config.only(tuple(suites)) if suites else config,
        model=model,
        model_digest=digest,
        progress=progress,
    )


def _locate(model: str) -> tuple[Path, str]:
    """The model's folder and digest."""
    path = Path(model)
    if path.is_file():
        stored = ModelRef.read(path)
        return ModelStore(open_run_store()).materialise(stored), stored.digest
    check_model_folder(path)
    return path, model_manifest(path).digest
