"""The one process that runs a compiled pipeline with kfp's local runner: ``python -m pipelines.local_child``.

A process of its own because kfp's runner patches `print` and the logging handlers and leaves both so, and
because a whole process group is what can be ended for certain.
"""

import json
import os
import signal
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hat.runs.watch import die_with_runner


def main(package: Path, arguments_file: Path, folder: Path, runner: str) -> int:
    """Run ``package`` with the arguments of a JSON file; task outputs go below ``folder``."""
    die_with_runner()
    from kfp import components, local

    # Resources and the like have no effect here: kfp says so for every task.
    warnings.filterwarnings("ignore", message=".*have no effect in the current local runner.*")
    arguments = json.loads(arguments_file.read_text(encoding="utf-8"))
    local.init(
        runner=_docker_runner(folder, arguments)
        if runner == "docker"
        else local.SubprocessRunner(use_venv=False),
        pipeline_root=str(folder / "kfp"),
        workspace_root=str(folder / "workspace"),
        raise_on_error=True,
        enable_caching=False,  # the journal does it (docs/decisions/kfp-step-journal.md)
    )
    pipeline = components.load_component_from_file(str(package))
    try:
        pipeline(**arguments)
    except RuntimeError as error:  # all that kfp says of a failed step; the step itself has told the rest
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _docker_runner(folder: Path, arguments: Mapping[str, Any]) -> Any:
    """kfp's runner that starts a container for each step, and ends them when this process is told to end."""
    from kfp import local
    from kfp.local import docker_task_handler

    from pipelines.containers import container_arguments, container_runner, remove_containers

    run = os.environ["HAT_RUN_ID"]
    remove_containers(run)  # of an attempt that was cut off

    def end(*_: object) -> None:
        remove_containers(run)
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    for name in ("kfp", "workspace"):
        (folder / name).mkdir(exist_ok=True)  # or Docker would make it, as root
    docker_task_handler.run_docker_container = container_runner(arguments)
    return local.DockerRunner(**container_arguments(os.environ, os.getuid(), os.getgid()))


if __name__ == "__main__":
    package, arguments, folder, runner = sys.argv[1:]
    sys.exit(main(Path(package), Path(arguments), Path(folder), runner))
