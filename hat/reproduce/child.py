"""The process that does one unit's work: ``python -m hat.reproduce.child FOLDER``.

A process of its own, so that its time and memory can be told and end with it.
Everything costly goes through the pipeline's own steps and their journal: a unit that was cut off goes on from its
checkpoint, and no step is done twice for the same settings, inputs and code.
"""

import json
import os
import platform
import sys
import tempfile
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hat.errors import BadInput, HatError
from hat.evaluation.suites import held_out_digests
from hat.files import read_json, sha256_file, write_json_atomic
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.home import hat_home
from hat.models import ModelRef, ModelStore, resolve_base, tiny
from hat.reproduce.evaluation import rows_of
from hat.reproduce.request import CONFIG, OUTCOME, REQUEST, Outcome, Request
from hat.runs import places, watch
from hat.runs.config import RunConfig
from hat.runs.harness_archive import publish_harness
from hat.serving.machine import cores, cpu_name
from hat.steps.entries import read_entry
from hat.steps.journal import ERROR_MARK, run_step
from hat.steps.resolve import check_disk
from hat.steps.subject import Subject
from hat.storage import Store

LIBRARIES = ("torch", "transformers", "trl")


def work(folder: Path) -> Outcome:
    """Do what `request.json` asks for, with the settings in `config.json`."""
    request = Request.model_validate(read_json(folder / REQUEST))
    config = RunConfig.read(folder / CONFIG)
    store = places.open_run_store()
    check_disk(hat_home())
    harness = publish_harness(store, Registry(request.registry), request.harness, request.version)
    base = _base(config, store)
    start = ModelRef.model_validate(request.start) if request.start else base
    start.write(folder / "model_in.json")
    base.write(folder / "base.json")
    if request.step == "evaluate":
        model, rows, steps = None, _evaluate(folder, request, config), ["evaluation"]
    else:
        _subject(harness, config, base).write(folder / "subject.json")
        model, rows, steps = _train(folder, request.step, config, harness)
    done = [read_entry(store, places.run_id(), name) for name in steps]
    return Outcome(
        base_digest=base.digest,
        start_digest=start.digest,
        model=model.model_dump() if model else None,
        rows=tuple(rows),
        steps=tuple(
            {"name": each.name, "status": each.status, "seconds": each.seconds} for each in done if each
        ),
        platform=_platform(),
        hardware=_hardware(),
    )


def _base(config: RunConfig, store: Store) -> ModelRef:
    models = ModelStore(store)
    if config.base_model != tiny.NAME:
        return resolve_base(config.base_model, models)
    with tempfile.TemporaryDirectory(prefix="hat-tiny-") as place:
        return models.publish(tiny.write_tiny_model(Path(place)), base=tiny.NAME, notes=tiny.NOTES)


def _subject(harness: Harness, config: RunConfig, base: ModelRef) -> Subject:
    return Subject(
        harness=harness.name,
        version=harness.version,
        harness_digest=harness.digest,
        environment=config.environment,
        mode="train",
        plan="train",
        gate_policy="",
        allow_hook_commands=config.hooks.allow_commands,
        base=base.model_dump(),
    )


def _train(
    folder: Path, step: str, config: RunConfig, harness: Harness
) -> tuple[ModelRef, list[dict[str, Any]], list[str]]:
    given = {"config": str(folder / CONFIG), "subject": str(folder / "subject.json")}
    states, trajectories = str(folder / "states"), str(folder / "trajectories")
    run_step("hat.steps.augment", inputs=given, outputs={"states_out_dir": states})
    run_step(
        "hat.steps.generate",
        inputs={**given, "states_dir": states},
        outputs={"trajectories_out_dir": trajectories},
    )
    data = {**given, "trajectories_dir": trajectories}
    run_step("hat.steps.validate", inputs=data, outputs={"report_out_html": str(folder / "validation.html")})
    outputs = {"model_out": str(folder / "model.json"), "metrics_out": str(folder / "metrics.jsonl")}
    if step != "sft":
        data["model_in"] = str(folder / "model_in.json")
    if step == "rl":
        outputs["tasks_out"] = str(folder / "tasks.json")
    run_step(f"hat.steps.{step}", inputs=data, outputs=outputs)
    if step == "rl":
        _check_apart(read_json(folder / "tasks.json")["task_digests"], config, harness)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    done = ["augment", "generate", "validate", step]
    return ModelRef.read(folder / "model.json"), [json.loads(line) for line in lines], done


def _check_apart(trained: list[str], config: RunConfig, harness: Harness) -> None:
    """No rollout may have been of an item that is asked; SFT's tasks are checked by the step `validate`."""
    from hat.domains.base import get_domain

    asked = held_out_digests(harness, get_domain(config.domain or harness.domain), config.evaluate)
    shared = sorted(set(trained) & set(asked))
    if shared:
        raise BadInput(f"{len(shared)} tasks of the rollouts are items of {asked[shared[0]]}", where="rl")


def _evaluate(folder: Path, request: Request, config: RunConfig) -> list[dict[str, Any]]:
    prompts = os.environ.get("HAT_IFEVAL_FILE", "") if request.evaluate["instruction_following"] else ""
    others = {**request.versions, "prompts": sha256_file(Path(prompts)) if prompts else "own"}
    document = folder / "document.json"
    run_step(
        "hat.reproduce.evaluation",
        inputs={
            "config": str(folder / CONFIG),
            "model_in": str(folder / "model_in.json"),
            "harness_dir": str(Registry(request.registry).folder(request.harness, request.version)),
            **({"base_in": str(folder / "base.json")} if request.divergence else {}),
        },
        outputs={"document_out": str(document)},
        parameters={
            "evaluate": json.dumps(request.evaluate, sort_keys=True),
            "full_suites": json.dumps(request.full_suites),
            "items": request.items,
            "divergence": request.divergence,
            "allow_commands": config.hooks.allow_commands,
            "others": json.dumps(others, sort_keys=True),
        },
    )
    return rows_of(read_json(document))


def _platform() -> str:
    parts = [f"{platform.system()} {platform.machine()}", f"Python {platform.python_version()}"]
    for library in LIBRARIES:
        try:
            parts.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            continue
    return ", ".join(parts)


def _hardware() -> str:
    import torch

    parts = [cpu_name() or platform.machine(), f"{cores()} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB")
    if torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name(0))
    return ", ".join(parts)


def main() -> None:
    """Work in the folder named; an error becomes one line that the command reads."""
    watch.die_with_runner()
    folder = Path(sys.argv[1])
    try:
        write_json_atomic(folder / OUTCOME, work(folder).model_dump(mode="json"))
    except HatError as error:
        _fail(str(error), error.exit_status)
    except Exception as error:  # noqa: BLE001  the last place: the traceback is for the log
        traceback.print_exc()
        _fail(f"unexpected {type(error).__name__}: {error}", 4)


def _fail(message: str, exit_status: int) -> None:
    sys.stderr.write(f"\n{ERROR_MARK}{json.dumps({'message': message, 'exit_status': exit_status})}\n")
    sys.exit(exit_status)


if __name__ == "__main__":
    main()
