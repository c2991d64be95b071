"""Putting a compiled pipeline on the cluster, once for each content."""

from dataclasses import dataclass

from hat.errors import BadInput, EnvironmentFailure
from pipelines.compile import Compiled
from pipelines.kubeflow.connection import Connection, equals


@dataclass(frozen=True)
class Reference:
    """A pipeline, and one version of it."""

    pipeline_id: str
    version_id: str


def publish_pipeline(connection: Connection, compiled: Compiled) -> Reference:
    """Upload the package unless its version is there; a version's name says its content.

    Safe when two do it at once: the one that is refused because of the name takes what the other uploaded.

    Raises:
        EnvironmentFailure: the API does not serve, or has several pipelines of that name.
    """
    pipeline = _pipeline_id(connection, compiled.pipeline)
    if pipeline is None:
        pipeline = _upload_pipeline(connection, compiled)
    version = _version_id(connection, pipeline, compiled.version)
    if version is None:
        version = _upload_version(connection, pipeline, compiled)
    return Reference(pipeline, version)


def _upload_pipeline(connection: Connection, compiled: Compiled) -> str:
    upload = connection.client._upload_api.upload_pipeline
    named = {"name": compiled.pipeline, "display_name": compiled.pipeline}
    if connection.address.namespace:
        named["namespace"] = connection.address.namespace
    try:
        return str(connection.call(upload, str(compiled.package), repeatable=False, **named).pipeline_id)
    except (BadInput, EnvironmentFailure):
        # Another was faster, or the answer got lost: what counts is whether it is there.
        found = _pipeline_id(connection, compiled.pipeline)
        if found is None:
            raise
        return found


def _upload_version(connection: Connection, pipeline: str, compiled: Compiled) -> str:
    upload = connection.client._upload_api.upload_pipeline_version
    named = {"name": compiled.version, "display_name": compiled.version, "pipelineid": pipeline}
    try:
        answer = connection.call(upload, str(compiled.package), repeatable=False, **named)
        return str(answer.pipeline_version_id)
    except (BadInput, EnvironmentFailure):
        found = _version_id(connection, pipeline, compiled.version)
        if found is None:
            raise
        return found


def _pipeline_id(connection: Connection, name: str) -> str | None:
    api = connection.client._pipelines_api
    named = {"namespace": connection.address.namespace} if connection.address.namespace else {}
    found = list(
        connection.pages(
            api.pipeline_service_list_pipelines, "pipelines", filter=equals("display_name", name), **named
        )
    )
    if len(found) > 1:
        raise EnvironmentFailure(
            f"{len(found)} pipelines are called {name}",
            where=connection.address.endpoint,
            mend="Delete all but one: which one a schedule means would be chance.",
        )
    return str(found[0].pipeline_id) if found else None


def _version_id(connection: Connection, pipeline: str, name: str) -> str | None:
    api = connection.client._pipelines_api
    found = connection.pages(
        api.pipeline_service_list_pipeline_versions,
        "pipeline_versions",
        pipeline_id=pipeline,
        filter=equals("display_name", name),
    )
    return next((str(each.pipeline_version_id) for each in found), None)
