"""`hat augment`: sample harness states, prove the gates on each, and prove a folder of them again."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from pipelines.cli.options import RegistryOption, WordingsOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json

if TYPE_CHECKING:
    from hat.augment.config import AugmentConfig
    from hat.augment.plan import Proof
    from hat.augment.state import HarnessState
    from hat.augment.verify import Gold
    from hat.domains.base import Split
    from hat.harness.model import Harness

VERIFY = "verify"
SHOW = "show"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("augment")(augment)


def augment(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME@VERSION | verify | show",
            help="Harness to augment; or `verify`, then a folder; or `show`, then a harness.",
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR | NAME@VERSION]",
            help="With `verify`: a folder that `hat augment` wrote. With `show`: a harness.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed: the same one gives the same states.")] = 0,
    count: Annotated[int, typer.Option(min=1, help="How many states.")] = 20,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Whose vocabulary and banks.")
    ] = "train",
    family: Annotated[
        list[str] | None,
        typer.Option(help="A family, e.g. T1; again for more. Default: all that are legal in the split."),
    ] = None,
    wordings: WordingsOption = None,
    out_folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where to write.")] = None,
    intent: Annotated[
        str | None, typer.Option(help="With `show`: whose question to play. Default: the first task's.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With `show`: write a page instead of printing.")
    ] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Sample harness states and prove the gates on each; or `verify DIR`: prove a folder again from its seeds.

    `show NAME@VERSION` puts the harness and the state of one seed side by side, with one trajectory under both.
    """
    from hat.errors import BadInput

    if target == SHOW:
        from pipelines.cli.augment_show import show

        if folder is None:
            raise BadInput("show needs a harness", mend="Write `hat augment show NAME@VERSION`.")
        show(str(folder), seed, split, _chosen(family, wordings), intent, html, registry)
        return
    if target == VERIFY:
        if folder is None:
            raise BadInput("verify needs the folder", mend="Write `hat augment verify DIR`.")
        report = _verify(folder, registry_folder(registry))
    else:
        if out_folder is None:
            raise BadInput("nowhere to write the states", mend="Give a folder with --out DIR.")
        report = _augment(target, seed, count, split, _chosen(family, wordings), out_folder, registry)
    if json_output:
        print_json(report)
    else:
        _show(report)
    if report["failed"]:
        raise typer.Exit(1)


def _chosen(families: list[str] | None, wordings: Path | None) -> dict[str, Any]:
    """The settings that the options name."""
    chosen: dict[str, Any] = {}
    if families:
        chosen["families"] = tuple(families)
    if wordings is not None:
        from hat.augment.wordings.document import read_wordings

        chosen["wordings"] = read_wordings(wordings)
    return chosen


def _augment(
    target: str,
    seed: int,
    count: int,
    split: "Split",
    chosen: dict[str, Any],
    folder: Path,
    registry: Path | None,
) -> dict[str, Any]:
    from pydantic import ValidationError

    from hat.augment.config import AugmentConfig
    from hat.augment.folder import write_report, write_states
    from hat.augment.plan import draw_states, expert_gold
    from hat.augment.test_use import log_test_use
    from hat.domains.base import domain_of
    from hat.errors import BadInput
    from hat.harness.registry import Registry

    known = Registry(registry_folder(registry))
    harness = known.load(*known.parse(target))
    try:
        config = AugmentConfig.full(split, states=count, original_share=0, **chosen)
    except ValidationError as error:
        raise BadInput(str(error.errors()[0]["ctx"]["error"]), where="--family") from error
    gold = expert_gold(harness, domain_of(harness), split)
    tasks = [trajectory.task for trajectory in gold.trajectories]
    states = draw_states(harness, count=count, run_seed=seed, split=split, config=config, tasks=tasks)
    proof = _prove(states, count, harness, config, gold)
    if split == "test":
        log_test_use("hat augment", harness, proof.planned)
    report = _report(proof, harness)
    write_states(folder, harness, config, proof.planned)
    write_report(folder, report)
    return report


def _verify(folder: Path, registry: Path) -> dict[str, Any]:
    from hat.augment.folder import read_states_document, resample
    from hat.augment.plan import expert_gold
    from hat.augment.test_use import log_test_use
    from hat.domains.base import domain_of
    from hat.harness.registry import Registry

    document = read_states_document(folder)
    harness = Registry(registry).load(document["harness"], document["version"])
    planned = document["states"]
    split = cast("Split", planned[0]["split"] if planned else "train")
    gold = expert_gold(harness, domain_of(harness), split)
    tasks = [trajectory.task for trajectory in gold.trajectories]
    config, states = resample(document, harness, folder, tasks)
    proof = _prove(states, len(planned), harness, config, gold)
    if split == "test":
        log_test_use("hat augment verify", harness, proof.planned)
    return _report(proof, harness)


def _prove(
    states: "Iterable[HarnessState]", count: int, harness: "Harness", config: "AugmentConfig", gold: "Gold"
) -> "Proof":
    from rich.progress import track

    from hat.augment.plan import prove_states

    shown = track(states, total=count, description="proving", console=err(), transient=True)
    return prove_states(shown, harness, config, gold)


def _report(proof: "Proof", harness: "Harness") -> dict[str, Any]:
    from hat.augment.rules.documents import free_prose

    prose = [{"where": " ".join(place), "text": item} for place, item in free_prose(harness)]
    return {**proof.report(), "free_prose": prose}


def _show(report: dict[str, Any]) -> None:
    out().print(f"{report['states']} states: {report['passed']} passed, {report['failed']} failed")
    for gate, counts in report["gates"].items():
        out().print(f"  {gate}: {counts['passed']} passed, {counts['failed']} failed")
    out().print("  " + ", ".join(f"{family} {count}" for family, count in report["families"].items()))
    for skip in report["skipped"]:
        out().print(f"  {skip['family']}, {skip['states']} states: {skip['reason']}", soft_wrap=True)
    for failure in report["failures"][:10]:
        where = f"{failure['gate']} state {failure['seed']}, {failure['transform']}, {failure['symbol']}"
        out().print(f"  {where}: {failure['message']}", soft_wrap=True, markup=False)
