"""`hat gate`: recomputes a verdict from a policy file and recorded evidence."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from pipelines.cli.output import JsonFlag, out, print_json

_DIGEST = re.compile(r"[0-9a-f]{64}")

if TYPE_CHECKING:
    from hat.promotion.slices import SliceRow
    from hat.promotion.verdict import Verdict


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate")(gate)


def gate(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="A gate.yaml.")],
    evidence: Annotated[
        str,
        typer.Argument(
            metavar="EVIDENCE",
            help="Folder that a run's `latency` step wrote, or the digest that the ledger names.",
        ),
    ],
    environment: Annotated[
        str | None, typer.Option(help="Which of the file's policies; default: the evidence's own.")
    ] = None,
    slices: Annotated[
        bool, typer.Option("--slices", help="Also every slice with its interval, deciding or not.")
    ] = False,
    json_output: JsonFlag = False,
) -> None:
    """Judge evidence by a policy. Exit status: 0 PASS, 1 FAIL, 3 INCONCLUSIVE."""
    verdict = _recompute(policy, evidence, environment)
    if json_output:
        print_json(verdict.to_json())
    else:
        _show(verdict)
        if slices:
            _show_slices(verdict.slices)
    raise typer.Exit(verdict.exit_status)


def _recompute(policy: Path, evidence: str, environment: str | None) -> "Verdict":
    from hat.promotion.archive import fetch_evidence
    from hat.promotion.verdict import recompute
    from hat.runs.places import open_run_store

    if not _DIGEST.fullmatch(evidence) or Path(evidence).is_dir():
        return recompute(policy, Path(evidence), environment)
    with TemporaryDirectory(prefix="hat-evidence-") as folder:
        fetch_evidence(open_run_store(), evidence, Path(folder) / "evidence")
        return recompute(policy, Path(folder) / "evidence", environment)


def _show(verdict: "Verdict") -> None:
    console = out()
    console.print(verdict.word.value)
    for reason in verdict.reasons:
        soft = "(soft) " if reason.soft else ""
        line = f"  {reason.outcome.value:9} {reason.code.value:20} {soft}{reason.message}"
        console.print(line, markup=False, soft_wrap=True)
    console.print(f"policy {verdict.policy_digest}, evidence {verdict.evidence_digest}", soft_wrap=True)


def _show_slices(rows: "tuple[SliceRow, ...]") -> None:
    table = Table(
        "suite", "slice", "n", "accuracy", "95% interval", "vs production", "p (Holm)", "", box=None
    )
    for row in rows:
        compared = "" if row.difference is None else f"{row.difference:+.1f}"
        adjusted = "" if row.p_adjusted is None else f"{row.p_adjusted:.2g}"
        interval = f"{row.low:.1f} to {row.high:.1f}"
        decides = "decides" if row.decides else ""
        cells = (f"{row.by}={row.slice}", str(row.n), f"{row.accuracy:.1f}", interval, compared, adjusted)
        table.add_row(row.suite, *cells, decides)
    out().print(table)
