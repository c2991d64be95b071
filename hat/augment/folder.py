"""A folder of planned states: written by the augment step and ``hat augment``, proven again from its seeds alone."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hat.augment.config import AugmentConfig
from hat.augment.plan import PlannedState
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Task
from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.harness.model import Harness
from hat.validation import first_problem

STATES_FILE = "states.json"
REPORT_FILE = "verification.json"
_KEYS = ("harness", "version", "harness_digest", "config", "states")
_ELSEWHERE = "Give a new folder, or remove this one."
_AGAIN = "Make the states again with `hat augment`."


def check_free(
    folder: Path, harness: Harness, config: AugmentConfig, split: str, seeds: Sequence[int]
) -> None:
    """See that writing states to ``folder`` replaces nothing but what the same settings made.

    Raises:
        BadInput: the folder holds something else, or is a file.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / STATES_FILE).is_file():
        raise BadInput("not an empty folder", where=str(folder), mend=_ELSEWHERE)
    there = read_states_document(folder)
    made = {
        "another harness": (there["harness"], there["version"], there["harness_digest"])
        == (harness.name, harness.version, harness.digest),
        "other settings": there["config"] == config.model_dump(mode="json"),
        "other seeds": [(state["seed"], state["split"]) for state in there["states"]]
        == [(seed, split) for seed in seeds],
    }
    for other, same in made.items():
        if not same:
            raise BadInput(f"the folder holds states of {other}", where=str(folder), mend=_ELSEWHERE)


def write_states(
    folder: Path, harness: Harness, config: AugmentConfig, states: Sequence[HarnessState | PlannedState]
) -> None:
    """Write what it takes to sample the states again: harness, settings, seeds and digests."""
    write_json_atomic(
        folder / STATES_FILE,
        {
            "schema_version": 1,
            "harness": harness.name,
            "version": harness.version,
            "harness_digest": harness.digest,
            "config": config.model_dump(mode="json"),
            "states": [PlannedState.of(state).to_json() for state in states],
        },
    )


def write_report(folder: Path, report: dict[str, Any]) -> None:
    """Write the outcome of the gates beside the states."""
    write_json_atomic(folder / REPORT_FILE, report)


def read_states_document(folder: Path) -> dict[str, Any]:
    """The document of `write_states`.

    Raises:
        BadInput: absent, malformed, or of another schema version.
    """
    path = folder / STATES_FILE
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema_version") != 1:
        raise BadInput("not a states document of schema version 1", where=str(path))
    missing = [key for key in _KEYS if key not in document]
    if missing:
        raise BadInput(f"{missing[0]} is missing", where=str(path), mend=_AGAIN)
    states = document["states"]
    if not isinstance(states, list) or not states:
        raise BadInput("it holds no states", where=str(path), mend=_AGAIN)
    if not all(isinstance(state, dict) and {"seed", "split", "digest"} <= state.keys() for state in states):
        raise BadInput("a state lacks its seed, split or digest", where=str(path), mend=_AGAIN)
    return document


def resample(
    document: dict[str, Any], harness: Harness, where: Path, tasks: Sequence[Task] = ()
) -> tuple[AugmentConfig, Iterator[HarnessState]]:
    """The settings and states of a document, each state sampled again when its turn comes.

    ``tasks`` holds those that states were sampled for.

    Raises:
        BadInput: the harness is another one, or the settings are none; while iterating, a state's digest
            differs (the code that samples has changed).
    """
    if document["harness_digest"] != harness.digest:
        raise BadInput(
            f"the states belong to harness digest {document['harness_digest'][:12]}, not {harness.digest[:12]}",
            where=str(where),
        )
    try:
        config = AugmentConfig.model_validate(document["config"])
    except ValidationError as error:
        problem = first_problem(error, inside="config")
        raise BadInput(problem, where=str(where / STATES_FILE), mend=_AGAIN) from error
    return config, _resampled(document, harness, config, where, {task.digest: task for task in tasks})


def _resampled(
    document: dict[str, Any],
    harness: Harness,
    config: AugmentConfig,
    where: Path,
    known: Mapping[str, Task],
) -> Iterator[HarnessState]:
    for planned in document["states"]:
        task_digest = planned.get("task", "")
        if task_digest and task_digest not in known:
            raise BadInput(
                f"state {planned['seed']} was sampled for task {task_digest[:12]}, which is not known",
                where=str(where),
                mend="The tasks were made by other code; make the states again with `hat augment`.",
            )
        state = sample_state(
            harness,
            seed=planned["seed"],
            split=planned["split"],
            config=config,
            task=known.get(task_digest),
        )
        if state.digest != planned["digest"]:
            raise BadInput(
                f"state {planned['seed']} now has digest {state.digest[:12]}, not {planned['digest'][:12]}",
                where=str(where),
                mend="The states were made by other code; make them again with `hat augment`.",
            )
        yield state
