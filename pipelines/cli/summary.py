"""How the end of a run reads on a terminal."""

from rich.console import Console

from hat.runs.places import run_folder
from hat.runs.record import RunRecord
from pipelines.local import LOG


def print_record(record: RunRecord, console: Console) -> None:
    """Say what came out of a run, and where to read more."""
    lines = []
    if record.error is not None:
        lines.append(f"failed in {record.error.step or 'the runner'}: {record.error.message}")
        lines.append(f"log: {run_folder(record.run) / LOG}")
        resume = "" if record.lost_race else f" --resume {record.run}"
        lines.append(f"go on with: hat run {record.harness}@{record.version}{resume}")
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
