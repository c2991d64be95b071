"""Step `evaluate`: the base model, the one in production and the candidate on the same items."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hat.domains.base import Task, get_domain
from hat.errors import BadInput
from hat.evaluation.config import GENERAL_SUITE, EvaluateConfig
from hat.evaluation.run import evaluate, items_digest
from hat.files import read_json, write_json_atomic
from hat.harness.model import Harness
from hat.models import ModelRef, ModelStore
from hat.promotion import ledger
from hat.promotion.archive import evaluated_at_promotion, trained_on
from hat.promotion.attribution import SUITE
from hat.promotion.documents import EvidenceSubject, HarnessName, Role, SubjectModels
from hat.promotion.evidence import attribution_file, evaluation_file, write_subject
from hat.runs.config import RunConfig
from hat.runs.harness_archive import fetch_harness, has_harness
from hat.runs.places import open_run_store
from hat.runs.progress import report
from hat.serving import machine
from hat.steps.journal import remember
from hat.steps.subject import Subject
from hat.storage import Store
from hat.trajectories.twins import TWINS_FILE
from hat.trajectories.validate_rows import TRAJECTORIES_FILE

STEP = "evaluate"
_DOCUMENT = "evaluation.json"


def run(
    *,
    config: str,
    subject: str,
    model_in: str,
    trajectories_dir: str,
    evidence_out_dir: str,
    tasks_in: str = "",
) -> None:
    """Write ``evaluation/<role>.json`` for each role, and `subject.json` with the items trained on.

    Args:
        model_in: ModelRef of the candidate.
        trajectories_dir: what the candidate was trained on; empty when this run trains nothing.
        tasks_in: a JSON file with the `task_digests` that reinforcement learning drew besides.

    An evaluation of the same model under the same harness and settings is taken from an earlier run: base and
    production models are evaluated once.
    """
    settings, about = RunConfig.read(config), Subject.read(subject)
    store = open_run_store()
    harness = about.load_harness(store)
    models: dict[Role, ModelRef] = {
        "base": ModelRef.model_validate(about.base),
        "candidate": ModelRef.read(Path(model_in)),
    }
    if about.production is not None:
        models["production"] = ModelRef.model_validate(about.production)
    folder = Path(evidence_out_dir)
    previous = _measure_before(store, settings, about, models, folder)
    for role in sorted(models):
        wanted = settings.evaluate.for_base() if role == "base" else settings.evaluate
        document = _evaluated(store, settings, harness, models[role], wanted, role)
        write_json_atomic(folder / evaluation_file(role), document)
    write_subject(
        folder,
        EvidenceSubject(
            schema_version=1,
            environment=about.environment,
            harness=about.harness,
            version=about.version,
            harness_digest=about.harness_digest,
            models=SubjectModels(**{role: reference.digest for role, reference in models.items()}),
            previous_harness=previous,
            ledger_head=about.ledger_head,
            engine=settings.engine.kind,
            hardware="cpu" if settings.engine.kind == "transformers" else machine.hardware(),
            training_items=None,
        ),
        _training_digests(store, about, trajectories_dir, tasks_in),
    )


def _measure_before(
    store: Store, settings: RunConfig, about: Subject, models: Mapping[Role, ModelRef], folder: Path
) -> HarnessName | None:
    """Add what the pair in production, and the new model, score under the harness in production.

    With it the verdict can say whether model or harness moved the score. The pair in production was measured when it
    was promoted; only the new model is evaluated here. None where this is the same harness, or that is not kept.
    """
    version, digest = about.production_version, about.production_harness_digest
    if version is None or digest is None or digest == about.harness_digest:
        return None
    entry = ledger.production(store, about.environment, about.harness)
    if entry is None or (entry.harness_digest, entry.model_digest) != (digest, models["production"].digest):
        return None
    recorded = evaluated_at_promotion(store, entry)
    if recorded is None or not has_harness(store, about.harness, version, digest):
        return None
    document = json.loads(recorded)
    document["suites"] = {SUITE: document["suites"][SUITE]} if SUITE in document["suites"] else {}
    write_json_atomic(folder / attribution_file("production"), document)
    if models["candidate"].digest != models["production"].digest:
        with tempfile.TemporaryDirectory(prefix="hat-harness-") as place:
            harness = fetch_harness(store, about.harness, version, digest, Path(place))
        wanted = settings.evaluate.only((SUITE,))
        document = _evaluated(store, settings, harness, models["candidate"], wanted, "candidate")
        write_json_atomic(folder / attribution_file("candidate"), document)
    return HarnessName(version=version, digest=digest)


def _evaluated(
    store: Store, settings: RunConfig, harness: Harness, model: ModelRef, wanted: EvaluateConfig, role: Role
) -> Any:
    """The evaluation document of one model. General prompts know no harness: they are asked once for all of them."""
    of_harness = {"domain": settings.domain, "harness": [harness.name, harness.version, harness.digest]}
    agent = wanted.model_copy(update={GENERAL_SUITE: 0})
    if agent == wanted:
        return _remembered(store, settings, harness, model, wanted, role, of_harness)
    general = _remembered(store, settings, harness, model, wanted.only((GENERAL_SUITE,)), role, {})
    if agent == agent.only(()):
        return general
    document = _remembered(store, settings, harness, model, agent, role, of_harness)
    suites = {**document["suites"], **general["suites"]}
    return {**document, "suites": suites, "items_digest": items_digest(suites)}


def _remembered(
    store: Store,
    settings: RunConfig,
    harness: Harness,
    model: ModelRef,
    wanted: EvaluateConfig,
    role: Role,
    further_parts: Mapping[str, Any],
) -> Any:
    """The document of an evaluation, from an earlier run where there was the same one."""

    def work(folder: Path) -> None:
        given = (ModelStore(store).materialise(model), harness, get_domain(settings.domain or harness.domain))
        named: dict[str, Any] = {
            "model": model.base,
            "model_digest": model.digest,
            "progress": lambda done, total: report(STEP, done, total, f"{role} model"),
        }
        if settings.engine.kind == "vllm":
            from hat.serving.evaluating import evaluate_served

            document = evaluate_served(
                *given, wanted, engine=settings.engine, export=settings.export, **named
            )
        else:
            document = evaluate(*given, wanted, **named)
        write_json_atomic(folder / _DOCUMENT, document)

    parts: Mapping[str, Any] = {
        "code_version": settings.code_version,
        "model": model.digest,
        "settings": wanted.model_dump(mode="json"),
        **further_parts,
    }
    if settings.engine.kind == "vllm":
        parts = {**parts, "engine": "vllm", "hardware": machine.hardware()}
    folder = Path(tempfile.mkdtemp(prefix="hat-evaluation-"))
    try:
        remember(store, "evaluation", parts, folder, work)
        return json.loads((folder / _DOCUMENT).read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _training_digests(
    store: Store, about: Subject, trajectories_dir: str, tasks_in: str
) -> frozenset[str] | None:
    """Digests of the tasks behind the candidate; None when they are not known."""
    if trajectories_dir:
        drawn = read_json(Path(tasks_in))["task_digests"] if tasks_in else []
        folder = Path(trajectories_dir)
        twins = _task_digests(folder / TWINS_FILE) if (folder / TWINS_FILE).is_file() else []
        return frozenset([*_task_digests(folder / TRAJECTORIES_FILE), *twins, *drawn])
    entry = ledger.production(store, about.environment, about.harness)
    return None if entry is None else trained_on(store, entry)


def _task_digests(path: Path) -> list[str]:
    try:
        with open(path, encoding="utf-8") as lines:
            return [Task.from_json(json.loads(line)["task"]).digest for line in lines]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"cannot be read: {error}", where=str(path)) from error
