"""What every step's pod is given, read from the compiled package."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from kfp import compiler

from pipelines.graph import build_pipeline
from pipelines.pod import PodSettings
from pipelines.profile import load_profile


def pods(profile: str, folder: Path, **pod: str) -> dict[str, dict[str, Any]]:
    """Executor -> its Kubernetes settings."""
    loaded = load_profile(profile)
    loaded = loaded.model_copy(update={"pod": PodSettings(**pod)} if pod else {})
    package = folder / "pipeline.yaml"
    compiler.Compiler().compile(build_pipeline(loaded, {}, "0" * 64), str(package))
    documents = list(yaml.safe_load_all(package.read_text(encoding="utf-8")))
    return documents[1]["platforms"]["kubernetes"]["deploymentSpec"]["executors"]


@pytest.fixture(scope="module")
def h20(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return pods("h20", tmp_path_factory.mktemp("h20"))


def test_no_step_runs_as_root(h20: dict[str, dict[str, Any]]) -> None:
    assert len(h20) > 10
    for name, settings in h20.items():
        assert settings["securityContext"]["runAsNonRoot"] is True, name
        assert int(settings["securityContext"]["runAsUser"]) == 10001, name


def test_credentials_are_named_and_may_be_absent(h20: dict[str, dict[str, Any]]) -> None:
    for name, settings in h20.items():
        (secret,) = settings["secretAsEnv"]
        assert secret["optional"] is True, name
        assert secret["secretName"] == "hat-store-credentials", name


def test_the_run_is_named_by_the_pod_and_not_by_a_parameter(h20: dict[str, dict[str, Any]]) -> None:
    for name, settings in h20.items():
        fields = {field["name"]: field["fieldPath"] for field in settings["fieldPathAsEnv"]}
        assert fields["HAT_RUN_ID"] == "metadata.labels['pipeline/runid']", name


def test_steps_share_the_cache_volume_of_the_profile(h20: dict[str, dict[str, Any]]) -> None:
    for name, settings in h20.items():
        (mount,) = settings["pvcMount"]
        assert mount["mountPath"] == "/var/lib/hat", name
        assert "hat-cache" in str(mount), name


def test_a_profile_may_have_a_queue_and_no_volume(tmp_path: Path) -> None:
    for settings in pods("tiny", tmp_path, queue="hat").values():
        assert settings["podMetadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "hat"
        assert "pvcMount" not in settings
