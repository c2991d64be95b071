"""`hat eval`: any model under any harness, on the evaluation suites."""

from typing import Annotated, Any

import typer

from pipelines.cli.options import RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json

SUITES = "live_stream_qa, harness_variant_qa, tool_prompt_robustness, instruction_following"
FULL = "combined, names_only, layout_only, evolution, ..."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)


def evaluate(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model folder, or file that holds a ModelRef.")
    ],
    harness: Annotated[str, typer.Option("--harness", metavar="NAME[@VERSION]", help="Under which harness.")],
    suite: Annotated[
        list[str] | None,
        typer.Option(help=f"A suite; again for more. Default: all of {SUITES}. Full suites, apart: {FULL}."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. live_stream_qa=40."),
    ] = None,
    items: Annotated[int | None, typer.Option(min=1, help="Items of each full suite.")] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Evaluate a model under a harness version."""
    from hat.evaluation.command import evaluate_model
    from hat.runs.config import apply_overrides, parse_config, parse_overrides

    overrides = {f"evaluate.{key}": value for key, value in parse_overrides(settings or []).items()}
    config = parse_config(apply_overrides({}, overrides), where="--set")
    console = err()
    with console.status("evaluating") as status:
        document = evaluate_model(
            model,
            harness,
            registry=registry_folder(registry),
            suites=tuple(suite or ()),
            settings=config.evaluate,
            items=items,
            progress=lambda done, total: status.update(f"evaluating: {done} of {total}"),
        )
    if json_output:
        print_json(document)
    else:
        _show(document)


def _show(document: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table("suite", "n", "accuracy", "95% interval", "regex baseline", box=None)
    for name, suite in document["suites"].items():
        low, high = suite["accuracy_ci"]
        baseline = suite.get("baseline_accuracy")
        table.add_row(
            name,
            str(suite["n"]),
            f"{suite['accuracy']:.1%}",
            f"{low:.1%} to {high:.1%}",
            "" if baseline is None else f"{baseline:.1%}",
        )
    out().print(f"{document['model']} under {document['harness']}@{document['version']}", soft_wrap=True)
    out().print(table)
    _show_sub_suites(document)


def _show_sub_suites(document: dict[str, Any]) -> None:
    """By kind of item; of twins also the pairs of which both members are right, with the harness-blind policy's."""
    from rich.table import Table

    rows = [row for suite in document["suites"].values() for row in suite.get("sub_suites", {}).items()]
    if not rows:
        return
    table = Table("kind", "n", "accuracy", "95% interval", "pairs", "both right", "both exact", box=None)
    for kind, result in rows:
        pairs = "pairs" in result
        table.add_row(
            kind,
            str(result["n"]),
            _percent(result["accuracy"]),
            " to ".join(map(_percent, result["accuracy_ci"] or ())),
            str(result["pairs"]) if pairs else "",
            *(_beside_blind(result, name) if pairs else "" for name in ("pair_accuracy", "pair_exact")),
        )
    out().print(table)


def _beside_blind(result: dict[str, Any], name: str) -> str:
    return f"{_percent(result[name])} (blind {_percent(result[f'blind_{name}'])})"


def _percent(share: float | None) -> str:
    return "not judged" if share is None else f"{share:.1%}"
