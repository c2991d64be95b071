"""Creating runs and finding them again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hat.errors import BadInput
from pipelines.kubeflow.connection import Connection, equals
from pipelines.kubeflow.pipelines import Reference

ENDED = frozenset({"SUCCEEDED", "SKIPPED", "FAILED", "CANCELED"})
"""States that a run never leaves."""


@dataclass(frozen=True)
class KubeflowRun:
    """A run as the API tells it."""

    run_id: str
    name: str
    state: str

    @property
    def ended(self) -> bool:
        """Whether the state is final."""
        return self.state in ENDED


def experiment_id(connection: Connection, name: str) -> str:
    """The id of an experiment, made if it is not there; two that make it at once get the same one."""
    found = _experiment(connection, name)
    if found is not None:
        return found
    from kfp_server_api import V2beta1Experiment

    document = V2beta1Experiment(display_name=name, namespace=connection.address.namespace)
    create = connection.client._experiment_api.experiment_service_create_experiment
    try:
        return str(connection.call(create, document, repeatable=False).experiment_id)
    except BadInput:
        found = _experiment(connection, name)
        if found is None:
            raise
        return found


def create_run(
    connection: Connection,
    name: str,
    experiment: str,
    reference: Reference,
    arguments: Mapping[str, Any],
    *,
    package: Path | None = None,
    caching: bool | None = None,
) -> KubeflowRun:
    """Start a run. Sent once: when the answer is lost, `find_run` tells whether it took effect.

    Args:
        experiment: the experiment's id.
        package: the compiled package of ``reference``; needed with ``caching``.
        caching: Kubeflow's own cache for all steps; None leaves it as compiled. kfp's client silently ignores
            it for a run of a pipeline version, so the run then carries the whole changed package.

    Raises:
        BadInput: the API refuses the run.
        EnvironmentFailure: it does not serve.
    """
    import kfp_server_api as api

    work: dict[str, Any]
    if caching is None:
        work = {
            "pipeline_version_reference": api.V2beta1PipelineVersionReference(
                pipeline_id=reference.pipeline_id, pipeline_version_id=reference.version_id
            )
        }
    else:
        assert package is not None, "caching needs the package"
        work = {"pipeline_spec": with_caching(package.read_text(encoding="utf-8"), caching)}
    document = api.V2beta1Run(
        display_name=name,
        experiment_id=experiment,
        runtime_config=api.V2beta1RuntimeConfig(parameters=dict(arguments)),
        **work,
    )
    create = connection.client._run_api.run_service_create_run
    return _run(connection.call(create, document, repeatable=False))


def with_caching(package: str, enabled: bool) -> dict[str, Any]:
    """The package as a run carries it, with Kubeflow's cache on or off for every step, nested ones included.

    (kfp's own override reaches the outermost tasks only.)
    """
    spec, *platform = yaml.safe_load_all(package)
    for component in (spec["root"], *spec["components"].values()):
        for task in component.get("dag", {}).get("tasks", {}).values():
            task["cachingOptions"] = {"enableCache": True} if enabled else {}
    return {"pipeline_spec": spec, "platform_spec": platform[0]} if platform else {"pipeline_spec": spec}


def find_run(connection: Connection, name: str, experiment: str) -> KubeflowRun | None:
    """The first run of that name in the experiment, or None."""
    listing = connection.client._run_api.run_service_list_runs
    named = {"experiment_id": experiment, "filter": equals("display_name", name)}
    found = sorted(
        connection.pages(listing, "runs", **named), key=lambda run: (str(run.created_at), run.run_id)
    )
    return _run(found[0]) if found else None


def get_run(connection: Connection, run_id: str) -> KubeflowRun:
    """A run's state now.

    Raises:
        NotThere: the run was deleted.
        EnvironmentFailure: the API does not serve.
    """
    return _run(connection.call(connection.client._run_api.run_service_get_run, run_id=run_id))


def _run(answer: Any) -> KubeflowRun:
    return KubeflowRun(str(answer.run_id), str(answer.display_name), str(answer.state))


def _experiment(connection: Connection, name: str) -> str | None:
    listing = connection.client._experiment_api.experiment_service_list_experiments
    named = {"namespace": connection.address.namespace} if connection.address.namespace else {}
    found = connection.pages(listing, "experiments", filter=equals("display_name", name), **named)
    return next((str(each.experiment_id) for each in found), None)
