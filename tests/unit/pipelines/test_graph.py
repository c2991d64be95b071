"""The compiled pipeline: loads, is the same every time, and trains only behind the screen's word."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from kfp import components

from hat.errors import BadInput
from hat.steps.contract import STEPS
from pipelines.compile import check_images, compile_profile
from pipelines.profile import load_profile, profile_names
from tests.support.crd import strict_schema

COMMIT = "0123456789abcdef" * 2 + "01234567"
PINNED = {
    family: f"registry/hat-python-{family}@sha256:{digit * 64}"
    for family, digit in (("cpu", "a"), ("train", "b"))
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_profile("laptop", tmp_path_factory.mktemp("compiled"), PINNED, commit=COMMIT).package


@pytest.fixture(scope="module")
def spec(package: Path) -> dict[str, Any]:
    return next(iter(yaml.safe_load_all(package.read_text(encoding="utf-8"))))


def tasks(spec: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """(component, the sub-pipeline it is in, its spec) of every task."""
    places = {"root": spec["root"], **spec["components"]}
    return [
        (task["componentRef"]["name"].removeprefix("comp-"), place, task)
        for place, component in places.items()
        for task in component.get("dag", {}).get("tasks", {}).values()
    ]


def task_of(spec: dict[str, Any], step: str) -> tuple[str, dict[str, Any]]:
    """The first task of a step, with the sub-pipeline it is in."""
    return next((place, task) for name, place, task in tasks(spec) if name == step)


def conditions(spec: dict[str, Any]) -> dict[str, str]:
    """Sub-pipeline -> the condition under which it runs."""
    return {
        f"comp-{name}": task["triggerPolicy"]["condition"]
        for name, _, task in tasks(spec)
        if "condition" in task.get("triggerPolicy", {})
    }


def test_kfp_loads_it_and_it_holds_every_step(package: Path, spec: dict[str, Any]) -> None:
    loaded = components.load_component_from_file(str(package))
    assert loaded.name == "hat-laptop"
    assert {step.name for step in STEPS} <= {name for name, _, _ in tasks(spec)}


def test_it_is_compiled_to_the_same_bytes_again(package: Path, tmp_path: Path) -> None:
    again = compile_profile("laptop", tmp_path, PINNED, commit=COMMIT)
    assert again.package.read_bytes() == package.read_bytes()
    manifests = package.with_suffix(".manifests.yaml")
    assert again.manifests.read_bytes() == manifests.read_bytes()
    assert len(package.read_bytes()) < 200_000


def test_the_manifests_are_what_kubeflow_takes_and_a_version_of_their_own_a_commit(
    package: Path, spec: dict[str, Any], shared_data: Path
) -> None:
    manifests = list(yaml.safe_load_all(package.with_suffix(".manifests.yaml").read_text(encoding="utf-8")))
    pipeline, version = manifests
    for manifest, crd in ((pipeline, "kfp-pipelines"), (version, "kfp-pipelineversions")):
        schema = strict_schema(shared_data / "crds" / f"{crd}.yaml")
        Draft202012Validator(schema).validate(manifest)
        assert not Draft202012Validator(schema).is_valid({**manifest, "spec": {"nonsense": 1}})
    digest = hashlib.sha256(package.read_bytes()).hexdigest()[:8]
    assert version["metadata"]["name"] == f"hat-laptop-{COMMIT[:12]}-{digest}"
    assert version["spec"]["pipelineName"] == pipeline["metadata"]["name"] == "hat-laptop"
    assert pipeline["spec"]["displayName"] == "hat-laptop"  # Kubeflow finds a pipeline by this name
    waves = [each["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] for each in manifests]
    assert waves == ["0", "1"]
    assert version["spec"]["pipelineSpec"]["root"] == spec["root"]


def test_parameters_are_few_described_and_have_defaults(spec: dict[str, Any]) -> None:
    parameters = spec["root"]["inputDefinitions"]["parameters"]
    assert len(parameters) <= 12
    assert all(value.get("description") for value in parameters.values())
    assert {name for name, value in parameters.items() if "defaultValue" not in value} == {"harness"}


def test_resources_of_model_steps_can_be_changed_when_a_run_is_started(
    package: Path, spec: dict[str, Any]
) -> None:
    (platform,) = list(yaml.safe_load_all(package.read_text(encoding="utf-8")))[1:]
    kubernetes = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    for step in ("screen", "sft", "opd", "rl", "evaluate", "latency"):
        resources = spec["deploymentSpec"]["executors"][f"exec-{step}"]["container"]["resources"]
        assert "accelerator_count" in resources["accelerator"]["resourceCount"]
        assert "accelerator_type" in resources["accelerator"]["resourceType"]
        settings = kubernetes[f"exec-{step}"]
        assert "node_selector" in str(settings["nodeSelector"]["nodeSelectorJson"])
        assert "tolerations" in str(settings["tolerations"][0]["tolerationJson"])
    assert "nodeSelector" not in kubernetes["exec-decide"]


def test_the_h20_profiles_defaults_are_its_nodes_and_its_training_goes_on_after_a_preemption(
    tmp_path: Path,
) -> None:
    text = compile_profile("h20", tmp_path, PINNED, commit=COMMIT).package.read_text(encoding="utf-8")
    root, platform = yaml.safe_load_all(text)
    parameters = root["root"]["inputDefinitions"]["parameters"]
    assert parameters["accelerator_count"]["defaultValue"] == "1"
    assert parameters["node_selector"]["defaultValue"] == {"accelerator": "nvidia-h20"}
    assert parameters["tolerations"]["defaultValue"][0]["key"] == "nvidia.com/gpu"
    retried = [name for name, _, task in tasks(root) if "retryPolicy" in task]
    assert sorted(retried) == ["rl", "sft"]
    environment = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-sft"]
    assert "HAT_POD_UID" in str(environment["fieldPathAsEnv"])


def test_metrics_report_and_verdict_are_artifacts_of_the_ui(spec: dict[str, Any]) -> None:
    artifacts = spec["components"]["comp-finalize"]["outputDefinitions"]["artifacts"]
    kinds = {name: value["artifactType"]["schemaTitle"] for name, value in artifacts.items()}
    assert kinds == {"metrics": "system.Metrics", "verdict": "system.Markdown", "report": "system.HTML"}


def test_every_training_step_is_behind_the_screens_word_train(spec: dict[str, Any]) -> None:
    under = conditions(spec)
    for step in STEPS:
        condition = under.get(task_of(spec, step.name)[0], "")
        assert ("== 'train'" in condition) == step.trains, step.name


def test_promotion_needs_a_pass_of_the_gate_or_of_the_screen(spec: dict[str, Any]) -> None:
    under = conditions(spec)
    places = [place for name, place, _ in tasks(spec) if name.startswith("promote")]
    words = [re.findall(r"== '(\w+)'", under[place]) for place in places]
    assert sorted(words) == [["PASS"], ["promote"]]


def test_the_exit_step_depends_on_no_task_and_runs_after_a_failure(spec: dict[str, Any]) -> None:
    place, finalize = task_of(spec, "finalize")
    assert place == "root"
    assert finalize["triggerPolicy"]["strategy"] == "ALL_UPSTREAM_TASKS_COMPLETED"
    assert not finalize["inputs"].get("artifacts")


def test_only_the_steps_that_must_not_be_reused_are_never_cached(spec: dict[str, Any]) -> None:
    names = [step.name for step in STEPS]
    cached = {name for name, _, task in tasks(spec) if task.get("cachingOptions", {}).get("enableCache")}
    assert cached & set(names) == {step.name for step in STEPS if step.reusable}
    assert {"resolve", "latency", "decide", "promote"}.isdisjoint(cached)


def test_every_image_is_a_parameter_whose_default_is_pinned(spec: dict[str, Any]) -> None:
    images = {executor["container"]["image"] for executor in spec["deploymentSpec"]["executors"].values()}
    assert all(
        re.fullmatch(r"\{\{\$\.inputs\.parameters\['pipelinechannel--image_\w+'\]\}\}", i) for i in images
    )
    parameters = spec["root"]["inputDefinitions"]["parameters"]
    assert parameters["image_cpu"]["defaultValue"] == PINNED["cpu"]
    assert parameters["image_train"]["defaultValue"] == PINNED["train"]
    assert len(parameters) <= 12


def test_without_images_whoever_starts_a_run_must_give_them(tmp_path: Path) -> None:
    text = compile_profile("tiny", tmp_path).package.read_text(encoding="utf-8")
    parameters = next(iter(yaml.safe_load_all(text)))["root"]["inputDefinitions"]["parameters"]
    assert "defaultValue" not in parameters["image_train"]
    assert not parameters["image_train"].get("isOptional", False)


@pytest.mark.parametrize(
    "images",
    [
        {"cpu": "python:latest", "train": PINNED["train"]},
        {"cpu": PINNED["cpu"]},
        {**PINNED, "gpu": PINNED["cpu"]},
    ],
)
def test_images_that_are_not_pinned_or_not_complete_are_refused(images: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        check_images(images)


@pytest.mark.parametrize("name", profile_names())
def test_a_profile_fits_into_one_parameter_of_a_cluster(name: str) -> None:
    assert len(load_profile(name).settings_json()) < 10_000


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(BadInput, match="laptop"):
        load_profile("nope")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: mine\ndescription: d\nstages: {sft: {contrl: fixed}}\n", "sft.contrl"),
        ("name: mine\ndescription: d\nexpected_seconds: {sftt: 1}\n", "sftt"),
        ("name: other\ndescription: d\n", "differs"),
        ("name: mine\n  description: d\n", "malformed"),
    ],
)
def test_a_wrong_profile_file_is_one_clear_message(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=told):
        load_profile(str(path))
