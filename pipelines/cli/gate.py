"""`hat gate`: recomputes a verdict from a policy file and recorded evidence."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.output import JsonFlag, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate")(gate)


def gate(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="A gate.yaml.")],
    evidence: Annotated[
        Path, typer.Argument(metavar="EVIDENCE", help="Folder that a run's `decide` step wrote.")
    ],
    environment: Annotated[
        str | None, typer.Option(help="Which of the file's policies; default: the evidence's own.")
    ] = None,
    json_output: JsonFlag = False,
) -> None:
    """Judge evidence by a policy. Exit status: 0 PASS, 1 FAIL, 3 INCONCLUSIVE."""
    from hat.promotion.verdict import recompute

    verdict = recompute(policy, evidence, environment)
    if json_output:
        print_json(verdict.to_json())
    else:
        console = out()
        console.print(verdict.word.value)
        for reason in verdict.reasons:
            console.print(f"  {reason.outcome.value:9} {reason.message}", markup=False, soft_wrap=True)
    raise typer.Exit(verdict.exit_status)
