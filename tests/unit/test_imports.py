"""The control plane stays light: what lists, lints, compiles and submits loads no model library."""

import json
import pkgutil
import subprocess
import sys

import hat
import pipelines

LIGHT = (
    "hat.agent",
    "hat.augment",
    "hat.domains",
    "hat.errors",
    "hat.files",
    "hat.harness",
    "hat.home",
    "hat.models.reference",
    "hat.promotion",
    "hat.storage",
    "hat.trajectories.record",
    "pipelines",
)
# A policy that plays a model in this process is the one thing below `hat.agent` that may load one.
HEAVY_BY_NATURE = ("hat.agent.policies.local",)
FORBIDDEN = ("torch", "transformers", "trl", "peft", "datasets", "deepspeed", "great_expectations")


def light_modules() -> list[str]:
    names = [
        module.name
        for package in (hat, pipelines)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None)
    ]
    return [
        name
        for name in names
        if any(name == light or name.startswith(f"{light}.") for light in LIGHT)
        and not name.startswith(HEAVY_BY_NATURE)
        and not name.endswith(".__main__")
    ]


def test_light_modules_import_no_model_library() -> None:
    modules = light_modules()
    assert len(modules) > 20
    code = (
        "import importlib, json, sys\n"
        "culprits = {}\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        f"    for heavy in {FORBIDDEN!r}:\n"
        "        if heavy in sys.modules: culprits.setdefault(heavy, name)\n"
        "print(json.dumps(culprits))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == {}
