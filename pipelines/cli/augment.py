"""`hat augment`: sample harness states, prove the gates on each, and prove a folder of them again."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pipelines.cli.augment_options import FamilyOption, SplitOption, chosen_config
from pipelines.cli.options import RegistryOption, WordingsOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json

if TYPE_CHECKING:
    from hat.augment.config import AugmentConfig
    from hat.augment.plan import Proof
    from hat.augment.state import HarnessState
    from hat.augment.verify import Gold
    from hat.domains.base import Split
    from hat.harness.model import Harness


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("augment")(augment)
    app.command("augment verify")(verify)


def augment(
    harness: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="Harness to augment.")],
    out_folder: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="A new folder, or one that the same command has written."),
    ],
    seed: Annotated[int, typer.Option(min=0, help="Seed: the same one gives the same states.")] = 0,
    count: Annotated[int, typer.Option(min=1, help="How many states.")] = 20,
    split: SplitOption = "train",
    family: FamilyOption = None,
    wordings: WordingsOption = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Sample harness states and prove the gates on each. Exit status 1 when a state fails one.

    `hat augment verify DIR` proves a folder again, `hat augment show NAME@VERSION` shows a state beside its original.
    """
    config = chosen_config(split, family, wordings, states=count)
    _tell(_augment(harness, seed, count, split, config, out_folder, registry), json_output)


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `hat augment` wrote.")],
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Sample a folder's states again from their seeds alone and prove the gates on each. Exit status 1 as there."""
    _tell(_verify(folder, registry_folder(registry)), json_output)


def _tell(report: dict[str, Any], json_output: bool) -> None:
    """Print the report and leave with status 1 when a gate failed."""
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
    config: "AugmentConfig",
    folder: Path,
    registry: Path | None,
) -> dict[str, Any]:
    from hat.augment.folder import check_free, write_report, write_states
    from hat.augment.plan import draw_states, expert_gold, first_seed
    from hat.augment.test_use import log_test_use
    from hat.domains.base import domain_of
    from hat.harness.registry import Registry

    known = Registry(registry_folder(registry))
    harness = known.load(*known.parse(target))
    check_free(folder, harness, config, split, range(first_seed(seed), first_seed(seed) + count))
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
    from hat.domains.base import domain_of
    from hat.harness.registry import Registry

    document = read_states_document(folder)
    harness = Registry(registry).load(document["harness"], document["version"])
    planned = document["states"]
    split = cast("Split", planned[0]["split"] if planned else "train")
    gold = expert_gold(harness, domain_of(harness), split)
    tasks = [trajectory.task for trajectory in gold.trajectories]
    config, states = resample(document, harness, folder, tasks)
    return _report(_prove(states, len(planned), harness, config, gold), harness)


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
