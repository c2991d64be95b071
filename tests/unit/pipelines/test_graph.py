"""The compiled pipeline: loads, is the same every time, and trains only behind the screen's word."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from kfp import components

from hat.errors import BadInput
from hat.steps.contract import STEPS
from pipelines.compile import check_images, compile_profile
from pipelines.profile import load_profile, profile_names

PINNED = {
    family: f"registry/hat-python-{family}@sha256:{digit * 64}"
    for family, digit in (("cpu", "a"), ("train", "b"))
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_profile("laptop", tmp_path_factory.mktemp("compiled"), PINNED)


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
    assert compile_profile("laptop", tmp_path, PINNED).read_bytes() == package.read_bytes()


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
    text = compile_profile("tiny", tmp_path).read_text(encoding="utf-8")
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
