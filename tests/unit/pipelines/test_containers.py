"""What a step's container may see, and what happens without Docker."""

from pathlib import Path

import pytest

from hat.errors import EnvironmentFailure
from pipelines import containers

docker = pytest.importorskip("docker", reason="`make env` installs it")


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HAT_HOME": str(tmp_path / "home"), "HAT_STORE": "s3://b/p", "HAT_RUN_ID": "a-run", **more}


def test_a_container_sees_the_state_folders_only(tmp_path: Path) -> None:
    given = environment(tmp_path, HAT_STORE=str(tmp_path / "store"))
    mounts = containers.container_arguments(given, 7, 8)["mounts"]
    assert {(mount["Source"], mount["Target"]) for mount in mounts} == {
        (str(tmp_path / name),) * 2 for name in ("home", "store")
    }


def test_a_store_elsewhere_is_not_mounted(tmp_path: Path) -> None:
    (mount,) = containers.container_arguments(environment(tmp_path), 7, 8)["mounts"]
    assert mount["Source"] == str(tmp_path / "home")


def test_a_step_gets_our_settings_and_nothing_else_of_the_environment(tmp_path: Path) -> None:
    given = environment(tmp_path, PATH="/x", AWS_ACCESS_KEY_ID="key", AWS_CA_BUNDLE="/here", SECRET="s")
    passed_on = containers.container_arguments(given, 7, 8)["environment"]
    assert set(passed_on) == {"HAT_HOME", "HAT_STORE", "HAT_RUN_ID", "AWS_ACCESS_KEY_ID"}


def test_a_step_runs_as_the_caller_with_no_rights_to_gain(tmp_path: Path) -> None:
    arguments = containers.container_arguments(environment(tmp_path), 7, 8)
    assert arguments["user"] == "7:8"
    assert arguments["cap_drop"] == ["ALL"]
    assert arguments["security_opt"] == ["no-new-privileges"]
    assert arguments["read_only"] is True
    assert arguments["labels"] == {containers.RUN_LABEL: "a-run"}


def test_without_docker_the_message_names_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(EnvironmentFailure, match=r"nobody\.sock: Docker does not answer"):
        containers.check_built(containers.local_images("0" * 64))


class Output:
    """A container whose output comes in pieces that split a character, and that ends with 3."""

    removed = False

    def logs(self, **_: object) -> list[bytes]:
        text = "价格\n".encode()
        return [text[:4], text[4:]]

    def wait(self) -> dict[str, int]:
        return {"StatusCode": 3}

    def remove(self, *, force: bool) -> None:
        self.removed = force


def test_a_failed_container_is_a_failure_and_its_output_stays_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    container = Output()

    class Client:
        class containers:
            @staticmethod
            def run(*_: object, **arguments: object) -> Output:
                assert "auto_remove" not in arguments
                return container

    assert containers.run_container(Client(), "image", ["true"], {}) == 3
    assert capsys.readouterr().out == "价格\n"
    assert container.removed


def test_an_image_that_is_a_parameter_of_the_pipeline_is_its_argument() -> None:
    placeholder = "{{$.inputs.parameters['pipelinechannel--image_train']}}"
    assert (
        containers.resolve_image(placeholder, {"image_train": "hat-python-train:1"}) == "hat-python-train:1"
    )
    assert containers.resolve_image("hat-python-cpu:1", {}) == "hat-python-cpu:1"
    with pytest.raises(EnvironmentFailure, match="image_train"):
        containers.resolve_image(placeholder, {})
