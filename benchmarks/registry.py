"""How fast harness editors are answered: linting a large harness, listing a large registry, starting the linter.

    python -m benchmarks.registry

Prints JSON: processor and wall-clock seconds of the best of several repetitions, each in a fresh process, beside the
time that this machine takes to start Python and import the command line's own framework (``typer``), as a reference.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPETITIONS = 5
LIVE_SHOP = Path(__file__).parents[1] / "harness_registry" / "live-shop"
SKILLS = TOOLS = 200
VERSIONS = 1000
HAT = "import sys; from pipelines.cli import main; sys.argv = ['hat', 'harness', {arguments}]; main()"
LINT = HAT.replace("{arguments}", "'lint', {path!r}, '--json'")
LIST = HAT.replace("{arguments}", "'list', '--json', '--registry', {path!r}")
ONLY_LINT = """
import time, pathlib
from hat.harness.lint import lint_path
begun = time.process_time()
problems = lint_path(pathlib.Path({path!r}))
print(time.process_time() - begun)
assert not [problem for problem in problems if problem.severity == "error"], problems
"""


def write_large_harness(registry: Path) -> Path:
    """A harness of the domain `declared_tools` with `TOOLS` tools and `SKILLS` skills; returns its version folder."""
    from hat.harness.exchange.imports import import_harness
    from hat.harness.registry import Registry

    tools = []
    for number in range(TOOLS):
        properties = {
            f"field_{index}": {
                "type": "string",
                "description": f"Field {index} of tool {number}",
                "maxLength": 80,
            }
            for index in range(6)
        }
        properties["filter"] = {"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}]}
        schema = {
            "type": "object",
            "properties": properties,
            "required": ["field_0"],
            "$defs": {
                "Filter": {"type": "object", "properties": {"by": {"enum": ["a", "b"]}}, "required": ["by"]}
            },
        }
        tools.append(
            {
                "name": f"tool_{number}",
                "description": f"Does the thing number {number}",
                "inputSchema": schema,
            }
        )
    source = registry.parent / "tools.json"
    source.write_text(json.dumps({"tools": tools}))
    folder = import_harness(Registry(registry), source, "large", "1.0.0")
    for number in range(SKILLS - 1):
        path = folder / "skills" / f"skill-{number}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        rules = "".join(
            f"- Rule {rule}: first call `tool_{(number + rule) % TOOLS}`.\n" for rule in range(10)
        )
        path.write_text(
            f"---\nname: skill-{number}\ndescription: For case {number}\n---\n# Case {number}\n\n{rules}"
        )
    return folder


def write_large_registry(registry: Path) -> None:
    """`VERSIONS` versions of one harness, manifests of live-shop's size."""
    manifest = (LIVE_SHOP / "versions" / "1.1.0" / "harness.yaml").read_text()
    for number in range(VERSIONS):
        folder = registry / "live-shop" / "versions" / f"1.{number}.0"
        folder.mkdir(parents=True)
        (folder / "harness.yaml").write_text(manifest.replace("version: 1.1.0", f"version: 1.{number}.0"))


def timed(code: str) -> dict[str, float]:
    """Best wall-clock and processor seconds of a fresh process."""
    walls, processors = [], []
    for _ in range(REPETITIONS):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        walls.append(time.perf_counter() - begun)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        processors.append(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
    return {"wall_seconds": round(min(walls), 3), "processor_seconds": round(min(processors), 3)}


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    with tempfile.TemporaryDirectory() as work:
        large = str(write_large_harness(Path(work) / "registry"))
        many = Path(work) / "many"
        write_large_registry(many)
        small = str(LIVE_SHOP / "versions" / "1.1.0")
        inside = [
            float(
                subprocess.run(
                    [sys.executable, "-c", ONLY_LINT.format(path=large)], check=True, capture_output=True
                ).stdout
            )
            for _ in range(REPETITIONS)
        ]
        report: dict[str, Any] = {
            "repetitions": REPETITIONS,
            "reference: python -c 'import typer'": timed("import typer"),
            f"load and lint {SKILLS} skills and {TOOLS} tools, without the start": {
                "processor_seconds": round(min(inside), 3)
            },
            f"hat harness lint of {SKILLS} skills and {TOOLS} tools": timed(LINT.format(path=large)),
            f"hat harness list of {VERSIONS} versions": timed(LIST.format(path=str(many))),
            "hat harness lint of live-shop@1.1.0 (the start, mostly)": timed(LINT.format(path=small)),
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
