"""`hat augment`: sample harness states, prove the gates on each, and prove a folder of them again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from pipelines.cli.options import RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json

if TYPE_CHECKING:
    from hat.augment.config import AugmentConfig
    from hat.augment.state import HarnessState
    from hat.domains.base import Split
    from hat.harness.model import Harness

VERIFY = "verify"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("augment")(augment)


def augment(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME@VERSION | verify", help="Harness to augment; or `verify`, then a folder."
        ),
    ],
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="With `verify`: a folder that `hat augment` wrote.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed: the same one gives the same states.")] = 0,
    count: Annotated[int, typer.Option(min=1, help="How many states.")] = 20,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Whose vocabulary and banks.")
    ] = "train",
    family: Annotated[
        list[str] | None, typer.Option(help="A family, e.g. T1; again for more. Default: all.")
    ] = None,
    out_folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where to write.")] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Sample harness states and prove the gates on each; or `verify DIR`: prove a folder again from its seeds."""
    from hat.errors import BadInput

    if target == VERIFY:
        if folder is None:
            raise BadInput("verify needs the folder", mend="Write `hat augment verify DIR`.")
        report = _verify(folder, registry_folder(registry))
    else:
        if out_folder is None:
            raise BadInput("nowhere to write the states", mend="Give a folder with --out DIR.")
        report = _augment(target, seed, count, split, tuple(family or ()), out_folder, registry)
    if json_output:
        print_json(report)
    else:
        _show(report)
    if report["failed"]:
        raise typer.Exit(1)


def _augment(
    target: str,
    seed: int,
    count: int,
    split: "Split",
    families: tuple[str, ...],
    folder: Path,
    registry: Path | None,
) -> dict[str, Any]:
    from pydantic import ValidationError

    from hat.augment.config import FAMILIES, AugmentConfig
    from hat.augment.folder import write_report, write_states
    from hat.augment.plan import sample_states
    from hat.errors import BadInput
    from hat.harness.registry import Registry, parse_reference

    name, version = parse_reference(target)
    harness = Registry(registry_folder(registry)).load(name, version)
    try:
        config = AugmentConfig(states=count, original_share=0, families=families or FAMILIES)
    except ValidationError as error:
        raise BadInput(str(error.errors()[0]["ctx"]["error"]), where="--family") from error
    states = sample_states(harness, count=count, run_seed=seed, split=split, config=config)
    report = _prove(states, harness, config, split)
    write_states(folder, harness, config, states)
    write_report(folder, report)
    return report


def _verify(folder: Path, registry: Path) -> dict[str, Any]:
    from hat.augment.folder import read_states_document, resample
    from hat.harness.registry import Registry

    document = read_states_document(folder)
    harness = Registry(registry).load(document["harness"], document["version"])
    config, states = resample(document, harness, folder)
    return _prove(states, harness, config, cast("Split", states[0].split if states else "train"))


def _prove(
    states: "list[HarnessState]", harness: "Harness", config: "AugmentConfig", split: "Split"
) -> dict[str, Any]:
    from rich.progress import track

    from hat.augment.plan import expert_gold, verification_report
    from hat.augment.verify import GATES, verify_state
    from hat.domains.base import domain_of

    gold = expert_gold(harness, domain_of(harness), split)
    failures = []
    for state in track(states, description="verifying", console=err(), transient=True):
        failures += verify_state(state, harness, config, gold)
    return verification_report(states, failures, GATES)


def _show(report: dict[str, Any]) -> None:
    out().print(f"{report['states']} states: {report['passed']} passed, {report['failed']} failed")
    for gate, counts in report["gates"].items():
        out().print(f"  {gate}: {counts['passed']} passed, {counts['failed']} failed")
    out().print("  " + ", ".join(f"{family} {count}" for family, count in report["families"].items()))
    for failure in report["failures"][:10]:
        out().print(f"  {failure['gate']} state {failure['seed']}: {failure['message']}", soft_wrap=True)
