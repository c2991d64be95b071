"""The client against a Kubeflow API server: what it survives, what it says, and two faults of kfp's client."""

import warnings
from pathlib import Path

import kfp
import pytest

from hat.errors import BadInput, EnvironmentFailure
from pipelines import kubeflow
from pipelines.compile import Compiled
from pipelines.kubeflow import Address, Connection, Reference
from pipelines.kubeflow import connection as connecting
from pipelines.kubeflow.connection import NotThere
from tests.support.kubeflow_server import Fault, KubeflowServer, serving

ARGUMENTS = {"harness": "live-shop", "version": "1.0.0"}


@pytest.fixture
def reference(connection: Connection, compiled: Compiled) -> Reference:
    return kubeflow.publish_pipeline(connection, compiled)


def start(connection: Connection, reference: Reference, name: str = "r") -> kubeflow.KubeflowRun:
    experiment = kubeflow.experiment_id(connection, "e")
    return kubeflow.create_run(connection, name, experiment, reference, ARGUMENTS)


def test_a_pipeline_is_uploaded_once_for_each_content(
    connection: Connection, server: KubeflowServer, compiled: Compiled
) -> None:
    first = kubeflow.publish_pipeline(connection, compiled)
    assert kubeflow.publish_pipeline(connection, compiled) == first
    assert len(server.pipelines) == 1
    assert [v["name"] for v in server.versions.values()].count(compiled.version) == 1
    assert next(iter(server.pipelines.values()))["display_name"] == compiled.pipeline


def test_an_upload_whose_answer_is_lost_is_found_and_not_repeated(
    connection: Connection, server: KubeflowServer, compiled: Compiled
) -> None:
    server.faults = [
        Fault(500, "POST", "upload$", after=True),
        Fault(0, "POST", "upload_version", after=True),
    ]
    kubeflow.publish_pipeline(connection, compiled)
    assert [v["name"] for v in server.versions.values()].count(compiled.version) == 1


def test_two_pipelines_of_one_name_are_refused_and_not_chosen_from(
    connection: Connection, server: KubeflowServer, compiled: Compiled, reference: Reference
) -> None:
    server.pipelines["other"] = {**server.pipelines[reference.pipeline_id], "pipeline_id": "other"}
    with pytest.raises(EnvironmentFailure, match="2 pipelines are called hat-tiny"):
        kubeflow.publish_pipeline(connection, compiled)


def test_busy_and_broken_answers_are_asked_again(
    connection: Connection, server: KubeflowServer, reference: Reference
) -> None:
    run = start(connection, reference)
    server.faults = [Fault(429, "GET"), Fault(500, "GET"), Fault(0, "GET")]
    assert kubeflow.get_run(connection, run.run_id).state == "PENDING"


def test_a_server_that_stays_broken_is_one_message(connection: Connection, server: KubeflowServer) -> None:
    server.faults = [Fault(500, times=99)]
    with pytest.raises(EnvironmentFailure, match="cannot serve: 500"):
        connection.check()


def test_creating_a_run_is_sent_again_when_it_was_refused_for_haste(
    connection: Connection, server: KubeflowServer, reference: Reference
) -> None:
    server.faults = [Fault(429, "POST", "/runs")]
    start(connection, reference)
    assert len(server.runs) == 1


def test_creating_a_run_whose_answer_is_lost_is_not_sent_again_and_is_found_by_name(
    connection: Connection, server: KubeflowServer, reference: Reference
) -> None:
    server.faults = [Fault(500, "POST", "/runs", after=True)]
    with pytest.raises(EnvironmentFailure):
        start(connection, reference, "lost")
    assert len(server.runs) == 1
    experiment = kubeflow.experiment_id(connection, "e")
    found = kubeflow.find_run(connection, "lost", experiment)
    assert found is not None
    assert found.run_id in server.runs


def test_a_slow_server_meets_our_time_limit(
    connection: Connection, server: KubeflowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "TIMEOUT", (0.5, 0.2))
    server.faults = [Fault(200, delay=1.0, times=9)]
    with pytest.raises(EnvironmentFailure, match="cannot be reached"):
        connection.check()


def test_a_token_that_expires_is_read_again(tmp_path: Path, compiled: Compiled) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    with serving(KubeflowServer(tokens={"first"})) as server:
        connection = Connection(Address(server.url, token_file=token), delays=(0.0,))
        reference = kubeflow.publish_pipeline(connection, compiled)

        def rotate() -> None:
            server.tokens = {"second"}
            token.write_text("second")

        server.faults = [Fault(401, "POST", "/runs", action=rotate)]
        run = start(connection, reference)
        assert kubeflow.get_run(connection, run.run_id).name == "r"
        assert len(server.runs) == 1


def test_a_token_that_stays_expired_is_one_message_that_names_its_file(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    with (
        serving(KubeflowServer(tokens={"new"})) as server,
        pytest.raises(EnvironmentFailure, match=f"lets nobody in: 401.*{token}"),
    ):
        Connection(Address(server.url, token_file=token), delays=(0.0,)).check()


def test_nobody_at_the_address_is_one_message() -> None:
    with pytest.raises(
        EnvironmentFailure, match=r"http://127\.0\.0\.1:9: Kubeflow Pipelines cannot be reached"
    ):
        Connection(Address("http://127.0.0.1:9"), delays=(0.0,)).check()


def test_a_run_that_is_gone_is_told_apart(connection: Connection) -> None:
    with pytest.raises(NotThere):
        kubeflow.get_run(connection, "no-such-run")


def test_a_refused_request_is_bad_input(
    connection: Connection, server: KubeflowServer, reference: Reference
) -> None:
    experiment = kubeflow.experiment_id(connection, "e")
    with pytest.raises(BadInput, match="400, Unknown input parameter nonsense"):
        kubeflow.create_run(connection, "r", experiment, reference, {**ARGUMENTS, "nonsense": "1"})
    assert not server.runs


def test_listings_are_read_to_their_last_page(
    connection: Connection, server: KubeflowServer, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_PAGE", 2)
    for number in range(5):
        start(connection, reference, f"r{number}")
    listing = connection.client._run_api.run_service_list_runs
    assert len(list(connection.pages(listing, "runs"))) == 5


def test_a_multi_user_kubeflow_gets_the_namespace(compiled: Compiled) -> None:
    with serving(KubeflowServer(multi_user=True)) as server:
        connection = Connection(Address(server.url, namespace="team"), delays=())
        reference = kubeflow.publish_pipeline(connection, compiled)
        start(connection, reference)
        assert next(iter(server.experiments.values()))["namespace"] == "team"
        assert next(iter(server.pipelines.values()))["namespace"] == "team"


def test_caching_holds_for_every_step_where_kfps_client_drops_it(
    connection: Connection, server: KubeflowServer, reference: Reference, compiled: Compiled
) -> None:
    experiment = kubeflow.experiment_id(connection, "e")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = kfp.Client(host=server.url)
    # The fault that is worked around: when this fails, kfp is mended and so can we be.
    dropped = client.run_pipeline(
        experiment,
        "kfp",
        params=ARGUMENTS,
        pipeline_id=reference.pipeline_id,
        version_id=reference.version_id,
        enable_caching=False,
    )
    assert "pipeline_spec" not in server.runs[dropped.run_id]

    run = kubeflow.create_run(
        connection, "ours", experiment, reference, ARGUMENTS, package=compiled.package, caching=False
    )
    spec = server.runs[run.run_id]["pipeline_spec"]["pipeline_spec"]
    tasks = [
        task
        for component in (spec["root"], *spec["components"].values())
        for task in component.get("dag", {}).get("tasks", {}).values()
    ]
    assert len(tasks) > 10
    assert not any(task["cachingOptions"].get("enableCache") for task in tasks)
    assert server.runs[run.run_id]["pipeline_spec"]["platform_spec"]["platforms"]["kubernetes"]


def test_kfps_client_cannot_make_a_recurring_run_of_the_newest_version(
    connection: Connection, server: KubeflowServer, reference: Reference
) -> None:
    experiment = kubeflow.experiment_id(connection, "e")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = kfp.Client(host=server.url)
    # The fault that pipelines/scheduling.py works around with the generated API.
    with pytest.raises(ValueError, match="both `pipeline_id` and `version_id` are required"):
        client.create_recurring_run(
            experiment, "nightly", cron_expression="0 0 3 * * *", pipeline_id=reference.pipeline_id
        )
