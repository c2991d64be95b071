"""The TrainJob launcher against a Kubernetes API: created, followed, removed however it ends, resumed."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.runs.config import RunConfig, parse_config
from hat.storage import open_store
from hat.training.distributed import run
from hat.training.distributed.cluster import TrainJobs
from hat.training.distributed.config import DistributedConfig
from hat.training.distributed.exchange import Exchange
from hat.training.distributed.run import train_elsewhere
from hat.training.distributed.trainjob import Placement, job_name, train_job
from tests.support.crd import strict_schema
from tests.support.trainer_server import TrainerServer, serving_trainer

KEY = "ab" * 32
NAME = job_name(KEY)
MODEL = {"schema_version": 1, "kind": "model", "digest": "0" * 64, "base": "tiny", "notes": ""}
PLACEMENT = {
    "image": f"registry/hat-python-train@sha256:{'0' * 64}",
    "accelerator_type": "nvidia.com/gpu",
    "accelerator_count": "8",
    "node_selector": {"accelerator": "nvidia-h20"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}


@pytest.fixture
def server(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TrainerServer]:
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HAT_PLACEMENT", json.dumps(PLACEMENT))
    monkeypatch.setenv("HAT_POD_NAME", "the-launcher")
    monkeypatch.setenv("HAT_POD_UID", "1234")
    monkeypatch.setenv("HAT_RUN_ID", "run one")
    # kubernetes reads KUBECONFIG when it is imported, so that the variable alone would come too late.
    monkeypatch.setattr(
        "kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "kubeconfig")
    )
    schema = strict_schema(shared_data / "crds" / "tr-trainjobs.yaml")
    with serving_trainer(TrainerServer(schema), tmp_path / "kubeconfig") as running:
        yield running


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    return Exchange(open_store(str(tmp_path / "store")), KEY)


def settings(**distributed: object) -> RunConfig:
    section = {"nodes": 2, "processes_per_node": 8, "poll_seconds": 0.02, **distributed}
    return parse_config({"sft": {"packs_per_step": 16}, "distributed": section}, where="test")


def later(server: TrainerServer, act: Callable[[], None]) -> None:
    """Act once the job is there, as its controller and its pods would."""

    def wait() -> None:
        while NAME not in server.jobs:
            time.sleep(0.01)
        act()

    threading.Thread(target=wait, daemon=True).start()


def complete(server: TrainerServer, exchange: Exchange, tmp_path: Path) -> Callable[[], None]:
    def act() -> None:
        (tmp_path / "log.jsonl").write_text("")
        exchange.put_progress(3, 4)
        exchange.put_result(MODEL, tmp_path / "log.jsonl")
        server.set_condition(NAME, "Complete")

    return act


def test_a_job_is_created_as_the_crd_has_it_followed_and_removed(
    server: TrainerServer, exchange: Exchange, tmp_path: Path
) -> None:
    (tmp_path / "home" / "runs" / "run one").mkdir(parents=True)
    later(server, complete(server, exchange, tmp_path))
    assert train_elsewhere(exchange, settings()) == MODEL
    assert server.jobs == {}
    (job,) = server.created  # the server validated it against the CRD's schema
    spec = job["spec"]
    assert spec["trainer"]["numNodes"] == 2
    assert spec["trainer"]["numProcPerNode"] == 8
    assert spec["trainer"]["resourcesPerNode"]["limits"]["nvidia.com/gpu"] == 8
    pod = spec["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    pod = pod["template"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == PLACEMENT["node_selector"]
    assert pod["tolerations"] == PLACEMENT["tolerations"]
    assert (
        job["metadata"]["ownerReferences"][0] | {"name": "the-launcher", "uid": "1234"}
        == (job["metadata"]["ownerReferences"][0])
    )
    assert {"name": "HAT_STORE", "value": str(tmp_path / "store")} in spec["trainer"]["env"]
    secret = next(each for each in spec["trainer"]["env"] if each["name"] == "AWS_SECRET_ACCESS_KEY")
    assert "value" not in secret
    assert pod["securityContext"]["runAsNonRoot"] is True
    progress = (tmp_path / "home" / "runs" / "run one" / "progress.jsonl").read_text()
    assert '"done": 3' in progress or '"done":3' in progress


def test_the_schema_refuses_what_the_crd_does_not_know(shared_data: Path) -> None:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(strict_schema(shared_data / "crds" / "tr-trainjobs.yaml"))
    job = train_job(KEY, DistributedConfig(nodes=2), Placement("i"), environment={})
    validator.validate(job)
    queued = train_job(KEY, DistributedConfig(nodes=2, queue="gpus"), Placement("i"), environment={})
    assert queued["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpus"
    job["spec"]["trainer"]["numberOfNodes"] = 2
    assert not validator.is_valid(job)


def test_a_failed_job_fails_the_step_with_the_processes_own_words_and_is_removed(
    server: TrainerServer, exchange: Exchange
) -> None:
    def act() -> None:
        exchange.put_error(BadInput("the loss is not finite", where="sft, step 3"))
        server.set_condition(NAME, "Failed", "BackoffLimitExceeded")

    later(server, act)
    with pytest.raises(EnvironmentFailure, match="step 3: the loss is not finite"):
        train_elsewhere(exchange, settings())
    assert server.jobs == {}


def test_a_job_that_fails_without_a_word_is_told_by_its_condition(
    server: TrainerServer, exchange: Exchange
) -> None:
    later(server, lambda: server.set_condition(NAME, "Failed", "BackoffLimitExceeded"))
    with pytest.raises(EnvironmentFailure, match=r"team/hat-sft-.*BackoffLimitExceeded"):
        train_elsewhere(exchange, settings())
    assert server.jobs == {}


def test_a_job_that_completes_without_a_result_fails_the_step(
    server: TrainerServer, exchange: Exchange
) -> None:
    later(server, lambda: server.set_condition(NAME, "Complete"))
    with pytest.raises(EnvironmentFailure, match="ended without a result"):
        train_elsewhere(exchange, settings())


def test_a_cancelled_run_removes_its_job(server: TrainerServer, exchange: Exchange) -> None:
    later(server, lambda: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(EnvironmentFailure, match="cancelled"):
        train_elsewhere(exchange, settings())
    assert server.jobs == {}
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_in_the_middle_of_a_look_at_the_job_ends_the_step_too(
    server: TrainerServer, exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = TrainJobs.get

    def interrupted(self: TrainJobs, name: str) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return look(self, name)

    monkeypatch.setattr(TrainJobs, "get", interrupted)
    with pytest.raises(EnvironmentFailure, match="cancelled"):
        train_elsewhere(exchange, settings())
    assert server.jobs == {}


def test_a_preempted_job_is_waited_for(server: TrainerServer, exchange: Exchange, tmp_path: Path) -> None:
    def act() -> None:
        server.set_condition(NAME, "Suspended")  # as Kueue preempts
        time.sleep(0.2)
        complete(server, exchange, tmp_path)()

    later(server, act)
    assert train_elsewhere(exchange, settings()) == MODEL


def test_the_next_attempt_takes_over_a_job_that_is_running_and_replaces_one_that_failed(
    server: TrainerServer, exchange: Exchange, tmp_path: Path
) -> None:
    left = train_job(KEY, DistributedConfig(nodes=2), Placement("i"), environment={})
    server.jobs[NAME] = left
    later(server, complete(server, exchange, tmp_path))
    assert train_elsewhere(exchange, settings()) == MODEL
    assert server.created == []

    server.jobs[NAME] = left
    server.set_condition(NAME, "Failed")

    def act() -> None:
        while not server.created:
            time.sleep(0.01)
        complete(server, exchange, tmp_path)()

    later(server, act)
    assert train_elsewhere(exchange, settings()) == MODEL
    assert len(server.created) == 1


def test_an_api_that_stumbles_does_not_end_the_training(
    server: TrainerServer, exchange: Exchange, tmp_path: Path
) -> None:
    def act() -> None:
        server.broken = 3
        time.sleep(0.2)
        complete(server, exchange, tmp_path)()

    later(server, act)
    assert train_elsewhere(exchange, settings()) == MODEL
    assert server.jobs == {}


def test_without_rights_the_message_names_them(server: TrainerServer, exchange: Exchange) -> None:
    server.forbidden = True
    with pytest.raises(EnvironmentFailure, match="create, get, list and delete"):
        train_elsewhere(exchange, settings())


def test_without_the_crd_torchrun_takes_over_and_a_trainjob_that_is_asked_for_is_refused(
    server: TrainerServer, exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.installed = False
    with pytest.raises(EnvironmentFailure, match=r"no trainjobs\.trainer\.kubeflow\.org"):
        train_elsewhere(exchange, settings(launcher="trainjob"))
    ran: list[DistributedConfig] = []
    monkeypatch.setattr(run, "_run_torchrun", lambda _, config: ran.append(config))
    with pytest.raises(EnvironmentFailure, match="without a result"):
        train_elsewhere(exchange, settings())
    assert len(ran) == 1
    assert server.created == []


def test_outside_of_a_pod_no_job_is_made_unless_it_is_asked_for(
    server: TrainerServer, exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HAT_POD_NAME")
    ran: list[DistributedConfig] = []
    monkeypatch.setattr(run, "_run_torchrun", lambda _, config: ran.append(config))
    with pytest.raises(EnvironmentFailure, match="without a result"):
        train_elsewhere(exchange, settings())
    assert len(ran) == 1
    assert server.created == []
