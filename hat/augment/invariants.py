"""G1 by steps: each family changed its own surfaces only and kept its invariant."""

from collections.abc import Iterator

from hat.augment.sampler import Step
from hat.augment.transforms.base import SURFACES, surface_of


def check_step(step: Step) -> Iterator[str]:
    """Problems of one family's step: undeclared changes, and its broken invariant."""
    transform, before, after = step.transform, step.before, step.after
    for surface in SURFACES:
        if surface in transform.surfaces or (surface == "regenerates" and transform.regenerates):
            continue
        if surface_of(before, surface) != surface_of(after, surface):
            yield f"{surface} changed, which {transform.family} may not do"
    for problem in transform.check(before, after):
        yield f"{transform.family}: {problem}"
