"""G1 by steps: sampling again gives the state, and each family changed its own surfaces only and kept its invariant."""

from collections.abc import Iterator

from hat.augment.config import AugmentConfig
from hat.augment.sampler import Step, sample_steps
from hat.augment.state import HarnessState
from hat.augment.transforms.base import SURFACES, surface_of
from hat.domains.base import Task
from hat.harness.model import Harness


def check_steps(
    state: HarnessState, harness: Harness, config: AugmentConfig, task: Task | None = None
) -> Iterator[str]:
    """Problems of a state against its own seed; ``task`` is the one that it was sampled for, if any."""
    again, steps = sample_steps(harness, seed=state.seed, split=state.split, config=config, task=task)
    if again.digest != state.digest:
        yield f"sampling again gives {again.digest[:12]}, not {state.digest[:12]}"
    for step in steps:
        yield from check_step(step)


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
