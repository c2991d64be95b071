"""Recurring runs: declared in a file, reconciled with what the cluster has."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hat.errors import BadInput
from hat.files import canonical_json, sha256_text
from hat.runs.harness_archive import LATEST
from hat.schema_version import SchemaVersion
from hat.validation import first_problem
from pipelines import kubeflow
from pipelines.compile import compile_profile
from pipelines.kubeflow import Address, Connection
from pipelines.kubeflow.connection import NotThere
from pipelines.start import RunRequest
from pipelines.submit import check_cluster_order

EXPERIMENT = "hat-schedules"
MARK = "Kept by `hat schedule apply`; changes made here are undone. sha256:"
_FIELDS = 6
_ROUNDS = 3


class Schedule(BaseModel):
    """One recurring run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    """Its name on the cluster, unique in the file."""
    harness: str = Field(pattern=r"^[a-z0-9-]{1,64}$")
    """The harness whose newest published version is run each time."""
    profile: str
    """The pipeline: always its newest version on the cluster."""
    mode: Literal["auto", "train", "screen"] = "train"
    """As for `hat run`; `train` is scheduled retraining."""
    cron: str
    """Six fields: second, minute, hour, day of month, month, day of week."""
    enabled: bool = True
    """Whether it starts runs."""
    max_concurrency: int = Field(default=1, ge=1, le=10)
    """Runs of this schedule at the same time."""
    catch_up: bool = False
    """Whether missed times are made up for."""
    settings: dict[str, Any] = {}
    """Settings that replace the profile's, as for `--set`."""

    @field_validator("cron")
    @classmethod
    def _six_fields(cls, value: str) -> str:
        if len(value.split()) != _FIELDS or not re.fullmatch(r"[\w*/,?\-#\s]+", value):
            raise ValueError(f"{value!r} is not a cron expression of six fields, seconds first")
        return value


class ScheduleFile(BaseModel):
    """`pipelines/schedules.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: SchemaVersion = 1
    """Version of this file's layout."""
    schedules: tuple[Schedule, ...] = ()
    """All there shall be."""


@dataclass(frozen=True)
class Action:
    """What was done for one schedule."""

    name: str
    kind: Literal["created", "changed", "enabled", "disabled", "deleted", "unchanged"]
    recurring_run_id: str = ""


def read_schedules(path: Path) -> ScheduleFile:
    """The file, checked.

    Raises:
        BadInput: it cannot be read, breaks the format or names a schedule twice.
    """
    try:
        document = ScheduleFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from error
    except yaml.YAMLError as error:
        raise BadInput(f"not YAML: {str(error).splitlines()[0]}", where=str(path)) from error
    except ValidationError as error:
        raise BadInput(first_problem(error), where=str(path)) from error
    names = [each.name for each in document.schedules]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadInput(f"the name {sorted(twice)[0]!r} is there twice", where=str(path))
    return document


def apply_schedules(
    wanted: ScheduleFile, address: Address, images: Mapping[str, str], experiment: str = EXPERIMENT
) -> list[Action]:
    """Make the cluster have exactly the file's schedules in the experiment; what others made there is left alone.

    Raises:
        BadInput: settings or images are wrong.
        EnvironmentFailure: the API does not serve; applying again goes on from there.
    """
    for schedule in wanted.schedules:
        check_cluster_order(
            RunRequest(schedule.harness, LATEST, schedule.profile, schedule.mode, schedule.settings), images
        )
    connection = Connection(address)
    connection.check()
    scope = kubeflow.experiment_id(connection, experiment)
    pipelines = {
        profile: _publish(connection, profile, images)
        for profile in sorted({each.profile for each in wanted.schedules})
    }
    documents = {each.name: _document(each, pipelines[each.profile], scope) for each in wanted.schedules}
    actions: dict[str, Action] = {}
    for _ in range(_ROUNDS):  # another one may apply at the same time: look again after acting
        acted = list(_reconcile(connection, scope, wanted, documents))
        for action in acted:
            if action.kind != "unchanged" or action.name not in actions:
                actions[action.name] = action
        if all(action.kind == "unchanged" for action in acted):
            break
    return [actions[name] for name in sorted(actions)]


def _reconcile(
    connection: Connection, scope: str, wanted: ScheduleFile, documents: Mapping[str, dict[str, Any]]
) -> Iterator[Action]:
    api = connection.client._recurring_run_api
    listing = api.recurring_run_service_list_recurring_runs
    present = [
        run
        for run in connection.pages(listing, "recurring_runs", experiment_id=scope)
        if (run.description or "").startswith(MARK)
    ]
    present.sort(key=lambda run: (str(run.created_at), run.recurring_run_id))
    for schedule in wanted.schedules:
        document = documents[schedule.name]
        mine = [run for run in present if run.display_name == schedule.name]
        keep = next((run for run in mine if run.description == document["description"]), None)
        # Kubeflow cannot change one. Deleted first: two of a kind would start two runs.
        for run in mine:
            if run is not keep:
                _quietly(connection, api.recurring_run_service_delete_recurring_run, run.recurring_run_id)
        if keep is None:
            yield _create(connection, schedule, document, "changed" if mine else "created")
        elif (keep.status == "ENABLED") == schedule.enabled:
            kind: Literal["unchanged", "changed"] = "unchanged" if len(mine) == 1 else "changed"
            yield Action(schedule.name, kind, keep.recurring_run_id)
        elif schedule.enabled:
            connection.call(api.recurring_run_service_enable_recurring_run, keep.recurring_run_id)
            yield Action(schedule.name, "enabled", keep.recurring_run_id)
        else:
            connection.call(api.recurring_run_service_disable_recurring_run, keep.recurring_run_id)
            yield Action(schedule.name, "disabled", keep.recurring_run_id)
    for run in present:
        if run.display_name not in documents:
            _quietly(connection, api.recurring_run_service_delete_recurring_run, run.recurring_run_id)
            yield Action(run.display_name, "deleted", run.recurring_run_id)


def _create(
    connection: Connection,
    schedule: Schedule,
    document: Mapping[str, Any],
    kind: Literal["created", "changed"],
) -> Action:
    """Through the generated API: kfp's own method refuses a pipeline without a version.

    A reference without a version is what makes Kubeflow take the newest version at each time.
    """
    import kfp_server_api as api

    mode = api.RecurringRunMode.ENABLE if schedule.enabled else api.RecurringRunMode.DISABLE
    body = api.V2beta1RecurringRun(
        display_name=schedule.name,
        description=document["description"],
        experiment_id=document["experiment"],
        pipeline_version_reference=api.V2beta1PipelineVersionReference(pipeline_id=document["pipeline"]),
        runtime_config=api.V2beta1RuntimeConfig(parameters=document["parameters"]),
        trigger=api.V2beta1Trigger(cron_schedule=api.V2beta1CronSchedule(cron=schedule.cron)),
        max_concurrency=schedule.max_concurrency,
        no_catchup=not schedule.catch_up,
        mode=mode,
    )
    create = connection.client._recurring_run_api.recurring_run_service_create_recurring_run
    made = connection.call(create, body, repeatable=False)
    return Action(schedule.name, kind, made.recurring_run_id)


def _document(schedule: Schedule, pipeline: str, experiment: str) -> dict[str, Any]:
    """What the cluster shall have, and its digest, by which a change is noticed.

    Images and code version are left to the pipeline's newest version, which has them as defaults.
    """
    parameters = {
        "harness": schedule.harness,
        "version": LATEST,
        "mode": schedule.mode,
        "overrides": json.dumps(schedule.settings, ensure_ascii=False, sort_keys=True),
    }
    values = schedule.model_dump(mode="json", exclude={"enabled"})
    digest = sha256_text(canonical_json([values, parameters, pipeline, experiment]))
    description = f"{MARK}{digest}"
    return {
        "description": description,
        "parameters": parameters,
        "pipeline": pipeline,
        "experiment": experiment,
    }


def _publish(connection: Connection, profile: str, images: Mapping[str, str]) -> str:
    with tempfile.TemporaryDirectory(prefix="hat-schedule-") as folder:
        compiled = compile_profile(profile, Path(folder), images)
        return kubeflow.publish_pipeline(connection, compiled).pipeline_id


def _quietly(connection: Connection, delete: Callable[..., Any], identity: str) -> None:
    """Delete what another may have deleted a moment ago."""
    try:
        connection.call(delete, identity)
    except NotThere:
        return
