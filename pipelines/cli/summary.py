"""How the end of a run reads on a terminal."""

import json
import shlex

from rich.console import Console

from hat.errors import BadInput
from hat.runs.places import run_folder
from hat.runs.record import RunRecord
from pipelines.local import LOG


def print_record(record: RunRecord, console: Console) -> None:
    """Say what came out of a run, and where to read more."""
    lines = []
    if record.error is not None:
        lines.append(f"failed in {record.error.step or 'the runner'}: {record.error.message}")
        lines.append(f"log: {run_folder(record.run) / LOG}")
        lines.append(_how_to_go_on(record))
    else:
        how = "a model trained for it" if record.trained else "the model in production, nothing trained"
        lines.append(f"{record.verdict}: {record.harness}@{record.version} with {how}")
        if record.promoted:
            lines.append("promoted: the pair is in production")
        if record.not_promoted:
            lines.append(f"not promoted: {record.not_promoted}")
    if record.report:
        lines.append(f"report: {record.report}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _how_to_go_on(record: RunRecord) -> str:
    command = f"hat run {record.harness}@{record.version}"
    if record.lost_race:
        # A new run, which does not keep the settings of this one.
        settings = [
            f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in record.overrides.items()
        ]
        given = shlex.join(
            ["--profile", record.profile, *(part for one in settings for part in ("--set", one))]
        )
        return f"go on with: {command} {given}"
    resume = f"{command} --resume {record.run}"
    if record.exit_status == BadInput.exit_status:
        # What was given is wrong: a resumed run keeps its harness and its settings.
        return f"settings or harness mended: start a new run. Anything else mended: {resume}"
    return f"go on with: {resume}"
