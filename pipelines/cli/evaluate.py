"""`hat eval`: any model under any harness, on the evaluation suites."""

from typing import Annotated, Any

import typer

from pipelines.cli.options import RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json

SUITES = "live_stream_qa, harness_variant_qa, tool_prompt_robustness, instruction_following"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)


def evaluate(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model folder, or file that holds a ModelRef.")
    ],
    harness: Annotated[str, typer.Option("--harness", metavar="NAME[@VERSION]", help="Under which harness.")],
    suite: Annotated[
        list[str] | None, typer.Option(help=f"A suite; again for more. Default: all. {SUITES}.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. live_stream_qa=40."),
    ] = None,
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
