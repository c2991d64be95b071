"""Step `resolve`: fixes what the run is about, and finds out before any costly work whether it can work."""

import json
import shutil
from pathlib import Path
from typing import Any, Literal, cast

from hat.agent.policies.endpoint import check_endpoint
from hat.errors import BadInput, EnvironmentFailure
from hat.home import hat_home
from hat.models import ModelRef, ModelStore, resolve_base
from hat.promotion.ledger import production
from hat.promotion.policy import parse_policies
from hat.runs.config import RunConfig, apply_overrides, parse_config
from hat.runs.harness_archive import Published, published, published_version
from hat.runs.places import open_run_store
from hat.runs.wordings import with_wordings
from hat.steps.subject import Subject
from hat.storage import NotFound, Store
from hat.trajectories.judge import Judge
from hat.trajectories.mined import mined_digest, read_mined

MODES = ("auto", "train", "screen")
FREE_BYTES = 6 << 30
"""Disk that a first run needs at its peak: the base twice, three trained models, an export, two checkpoints."""


def run(
    *,
    harness: str,
    version: str,
    harness_digest: str,
    mode: str,
    overrides: str,
    code_version: str,
    profile: str,
    config_out: str,
    subject_out: str,
) -> str:
    """Write `config.json` and `subject.json`.

    Args:
        version: a semantic version, or `latest` for the newest that is published.
        harness_digest: digest of the harness's files; empty for the newest published.
        overrides: {dotted key: value} as JSON text.
        profile: the profile's settings as JSON text.

    Returns:
        ``screen`` when the model in production is to be tried first, else ``train``.

    Raises:
        BadInput: a setting, the harness, the gate policy or the base model is wrong.
        EnvironmentFailure: the store, the disk or the strong model's endpoint does not serve.
    """
    if mode not in MODES:
        raise BadInput(f"no mode {mode!r}", where="--mode", mend=f"Known: {', '.join(MODES)}.")
    config = read_settings(profile, overrides, code_version)
    store = open_run_store()
    store.preflight()
    check_disk(hat_home())
    if config.generate.policy == "endpoint":
        check_endpoint(config.generate.endpoint)
    if config.engine.kind == "vllm" or (config.rl.rollouts == "vllm" and config.rl.steps):
        # Costly to import, and whoever submits a run reads its settings through this module.
        from hat.serving.vllm_server import find_vllm

        find_vllm(config.engine)
    config = with_wordings(_with_mined(config, store), store)
    version = published_version(store, harness, version)
    files = published(store, harness, version)
    subject = _subject(store, config, files, (harness, version, harness_digest or files.digest), mode)
    if config.opd.teacher:
        _check_teacher(ModelStore(store), ModelRef.model_validate(subject.base), config.opd.teacher)
    domain = subject.load_harness(store).domain
    config.model_copy(update={"domain": config.domain or domain}).write(config_out)
    subject.write(subject_out)
    return subject.plan


def _with_mined(config: RunConfig, store: Store) -> RunConfig:
    """The settings with the digest of the mined questions, once the file and the judge are known to be there."""
    if not config.generate.mined_questions:
        return config
    Judge(config.generate.judge)
    check_endpoint(config.generate.judge)
    digest = mined_digest(read_mined(config.generate.mined_questions, store))
    return config.model_copy(update={"generate": config.generate.model_copy(update={"mined_digest": digest})})


def _check_teacher(models: ModelStore, base: ModelRef, teacher: str) -> None:
    """Raise `BadInput` when the store has no such teacher, or its tokenizer is not the base model's."""
    # Imported late: only runs with a teacher of their own pay for it.
    from hat.training.preflight import check_same_vocabulary

    try:
        folder = models.materialise(ModelRef(digest=teacher, base=base.base))
    except NotFound as error:
        raise BadInput(
            str(error), where="opd.teacher", mend="Give the digest of a model in this store."
        ) from error
    check_same_vocabulary(models.materialise(base), folder)


def read_settings(profile: str, overrides: str, code_version: str) -> RunConfig:
    """A run's settings: the profile's, with the overrides applied, all checked. Raises `BadInput`."""
    values = apply_overrides(_json_object(profile, "profile"), _json_object(overrides, "--set"))
    return parse_config({**values, "code_version": code_version}, where="settings")


def check_disk(folder: Path) -> None:
    """Raise `EnvironmentFailure` when the disk that holds ``folder`` has too little space for a run."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < FREE_BYTES:
        raise EnvironmentFailure(
            f"{free >> 20} MB free; a run needs {FREE_BYTES >> 20} MB",
            where=str(existing),
            mend="Free space, or set HAT_HOME and HAT_STORE to another disk.",
        )


def _subject(
    store: Store, config: RunConfig, files: Published, identity: tuple[str, str, str], mode: str
) -> Subject:
    name, version, digest = identity
    environment = config.environment
    parse_policies(files.gate_policy, where=f"{name}/gate.yaml").policy(
        environment, where=f"{name}/gate.yaml"
    )
    base = resolve_base(config.base_model, ModelStore(store))
    current = production(store, environment, name)
    if mode == "screen" and current is None:
        raise BadInput(
            f"nothing of {name} is in production in {environment}: there is no model to screen",
            where="--mode screen",
            mend="Use --mode auto, which trains one.",
        )
    return Subject(
        harness=name,
        version=version,
        harness_digest=digest,
        environment=environment,
        mode=cast(Literal["auto", "train", "screen"], mode),
        plan="train" if current is None or mode == "train" else "screen",
        gate_policy=files.gate_policy,
        allow_hook_commands=config.hooks.allow_commands,
        base=base.model_dump(),
        production=current.model if current else None,
        production_version=current.version if current else None,
        production_harness_digest=current.harness_digest if current else None,
        production_run=current.run if current else None,
        ledger_head=current.sequence if current else 0,
    )


def _json_object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error.msg}", where=where) from error
    if not isinstance(value, dict):
        raise BadInput("not a JSON object", where=where)
    return value
