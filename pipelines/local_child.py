"""The one process that runs a compiled pipeline with kfp's local runner: ``python -m pipelines.local_child``.

A process of its own because kfp's runner patches `print` and the logging handlers and leaves both so, and
because a whole process group is what can be ended for certain.
"""

import json
import sys
import warnings
from pathlib import Path

from hat.runs.watch import die_with_runner


def main(package: Path, arguments_file: Path, folder: Path) -> int:
    """Run ``package`` with the arguments of a JSON file; task outputs go below ``folder``."""
    die_with_runner()
    from kfp import components, local

    # Resources and the like have no effect here: kfp says so for every task.
    warnings.filterwarnings("ignore", message=".*have no effect in the current local runner.*")
    local.init(
        runner=local.SubprocessRunner(use_venv=False),
        pipeline_root=str(folder / "kfp"),
        workspace_root=str(folder / "workspace"),
        raise_on_error=True,
        enable_caching=False,  # the journal does it (docs/decisions/kfp-step-journal.md)
    )
    pipeline = components.load_component_from_file(str(package))
    arguments = json.loads(arguments_file.read_text(encoding="utf-8"))
    try:
        pipeline(**arguments)
    except RuntimeError as error:  # all that kfp says of a failed step; the step itself has told the rest
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*(Path(argument) for argument in sys.argv[1:])))
