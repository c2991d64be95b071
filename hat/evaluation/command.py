"""What `hat eval` does: any model folder under any harness of any registry folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hat.domains.base import domain_of
from hat.errors import BadInput
from hat.evaluation.config import AGENT_SUITES, EvaluateConfig
from hat.evaluation.full_suites.registry import FULL_SUITES, build_suite
from hat.evaluation.full_suites.settings import SuiteSettings
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.models import ModelRef, ModelStore
from hat.models.folder import check_model_folder, model_manifest
from hat.nearest import known_names
from hat.runs.places import open_run_store

SUITES = (*AGENT_SUITES, "instruction_following", "ifeval")
FURTHER_SUITES = tuple(name for name in FULL_SUITES if name not in SUITES)
"""Full suites, which are asked by name and apart from those of a run."""


def evaluate_model(
    model: str,
    reference: str,
    *,
    registry: Path,
    suites: Sequence[str] = (),
    settings: EvaluateConfig | None = None,
    items: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """The evaluation document of a model under a harness.

    Args:
        model: a Hugging Face folder, or a file that holds a ModelRef of the store.
        reference: ``NAME@VERSION``, or ``NAME`` for the newest version.
        suites: empty for all four of a run; full suites by name, without any of the four.
        items: of each full suite, in its own units; None: its own number.

    Raises:
        BadInput: an unknown suite, harness or version, suites of both kinds, or not a whole model.
    """
    unknown = [suite for suite in suites if suite not in (*SUITES, *FURTHER_SUITES)]
    if unknown:
        mend = known_names(unknown[0], (*SUITES, *FURTHER_SUITES))
        raise BadInput(f"no suite {unknown[0]!r}", where="--suite", mend=mend)
    further = tuple(suite for suite in suites if suite in FURTHER_SUITES)
    if further and len(further) < len(suites):
        raise BadInput(
            f"{further[0]} is no suite of a run and is asked apart from them",
            where="--suite",
            mend=f"Ask for {', '.join(further)} in a command of its own.",
        )
    if items is not None and not further:
        raise BadInput(
            "the suites of a run have settings for their items",
            where="--items",
            mend="Write --set SUITE=COUNT; --items is for the full suites.",
        )
    known = Registry(Path(registry))
    harness = known.load(*known.parse(reference))
    config = settings or EvaluateConfig()
    if further:
        return _evaluate_full(model, harness, further, config, items, progress)
    folder, digest = _locate(model)
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


def _evaluate_full(
    model: str,
    harness: Harness,
    suites: Sequence[str],
    config: EvaluateConfig,
    items: int | None,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """The document of full suites; of the settings, split, seed and decoding count."""
    settings = SuiteSettings(split=config.split, seed=config.seed, items=items)
    domain = domain_of(harness)
    for suite in suites:
        build_suite(suite, harness, domain, settings)
    folder, digest = _locate(model)
    from hat.agent.policies.local import LocalPolicy
    from hat.evaluation.full_suites.run import run_suites

    policy = LocalPolicy(
        folder, max_new_tokens=config.max_new_tokens, batch_size=config.batch_size, name=model
    )
    return run_suites(
        suites,
        policy,
        harness,
        domain,
        settings,
        model_digest=digest,
        progress=lambda suite, done, total: progress(done, total),
    )


def _locate(model: str) -> tuple[Path, str]:
    """The model's folder and digest."""
    path = Path(model)
    if path.is_file():
        stored = ModelRef.read(path)
        return ModelStore(open_run_store()).materialise(stored), stored.digest
    check_model_folder(path)
    return path, model_manifest(path).digest
