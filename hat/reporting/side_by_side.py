"""The page of an original harness beside an augmented state of it."""

from collections.abc import Sequence

from hat.augment.side_by_side import Pair
from hat.augment.state import HarnessState
from hat.reporting.render import environment


def render_side_by_side(pairs: Sequence[Pair], state: HarnessState, *, title: str, lead: str) -> str:
    """The whole page, self-contained like the run's report."""
    template = environment().get_template("side_by_side.html.jinja")
    return template.render(
        pairs=pairs,
        title=title,
        lead=lead,
        families=state.families,
        seed=state.seed,
        split=state.split,
        digest=state.digest,
    )
