"""`hat augment show`: a harness and one augmented state of it side by side, in the terminal or as a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.augment_options import FamilyOption, SplitOption, chosen_config
from pipelines.cli.options import RegistryOption, WordingsOption, registry_folder
from pipelines.cli.output import err, out

if TYPE_CHECKING:
    from rich.text import Text

    from hat.augment.side_by_side import Pair, Piece
    from hat.trajectories.record import Trajectory


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("augment show")(show)


def show(
    reference: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="The original.")],
    seed: Annotated[int, typer.Option(min=0, help="The state's seed.")] = 0,
    split: SplitOption = "train",
    family: FamilyOption = None,
    wordings: WordingsOption = None,
    intent: Annotated[
        str | None, typer.Option(help="Whose question to play. Default: the first task's.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page instead of printing.")
    ] = None,
    registry: RegistryOption = None,
) -> None:
    """The state of a seed beside the original, with the expert's episode under both."""
    from hat.augment.plan import expert_gold
    from hat.augment.sampler import sample_state
    from hat.augment.side_by_side import side_by_side
    from hat.augment.state import HarnessState
    from hat.augment.test_use import log_test_use
    from hat.domains.base import domain_of
    from hat.files import write_text_atomic
    from hat.harness.registry import Registry

    known = Registry(registry_folder(registry))
    harness = known.load(*known.parse(reference))
    trajectory = _of_intent(expert_gold(harness, domain_of(harness), split).trajectories, intent)
    # Families that were named are all shown; otherwise what a state of this split is like.
    settings = {"depth": None, "probability": 1} if family else {}
    config = chosen_config(split, family, wordings, **settings)
    state = sample_state(harness, seed=seed, split=split, config=config, task=trajectory.task)
    if split == "test":
        log_test_use("hat augment show", harness, [state])
    if state.regenerates:
        from hat.augment.regenerate import regenerate

        domain = domain_of(harness)
        (trajectory,) = regenerate(state, [trajectory.task], domain, domain.execute)
    pairs = side_by_side(HarnessState.original(harness), state, trajectory)
    title = f"{harness.name}@{harness.version} beside a state of {split}"
    if html is None:
        _print(title, pairs, f"families {', '.join(state.families)}; seed {seed}; digest {state.digest[:12]}")
        return
    from hat.reporting.side_by_side import render_side_by_side

    lead = f"The same trajectory under both: {trajectory.task.question}"
    write_text_atomic(html, render_side_by_side(pairs, state, title=title, lead=lead))
    err().print(f"written to {html}", markup=False)


def _of_intent(trajectories: "Sequence[Trajectory]", intent: str | None) -> "Trajectory":
    from hat.errors import BadInput

    for trajectory in trajectories:
        if intent is None or trajectory.task.intent == intent:
            return trajectory
    known = sorted({trajectory.task.intent for trajectory in trajectories})
    raise BadInput(f"no task asks for {intent!r}", where="--intent", mend=f"Known: {', '.join(known)}.")


def _print(title: str, pairs: "Sequence[Pair]", summary: str) -> None:
    from rich.table import Table

    console = out()
    console.print(title, style="bold", markup=False)
    for pair in pairs:
        table = Table("original", "augmented", title=pair.title, title_justify="left", expand=True)
        for column in table.columns:
            column.ratio = 1
            column.overflow = "fold"
        table.add_row(_text(pair.original), _text(pair.augmented))
        console.print(table)
    console.print(summary, markup=False, soft_wrap=True)


def _text(pieces: "Sequence[Piece]") -> "Text":
    from rich.text import Text

    text = Text()
    for piece in pieces:
        text.append(piece.text, style="bold yellow" if piece.changed and piece.text.strip() else "")
    return text
