"""From a run's settings and trajectories to the packs that SFT trains on: the same in every process."""

from collections.abc import Sequence
from pathlib import Path

from hat.augment.plan import first_seed
from hat.domains.base import get_domain
from hat.harness.model import Harness
from hat.runs.config import RunConfig
from hat.training.plan import PlannedPack, plan_packs
from hat.training.preflight import check_harness
from hat.training.twin_plan import mix, plan_twin_packs
from hat.trajectories.storage import read_trajectories
from hat.trajectories.twins import read_pairs, training_pairs
from hat.trajectories.validate_rows import TRAJECTORIES_FILE


def prepare_sft(settings: RunConfig, harness: Harness, trajectories_dir: Path) -> Sequence[PlannedPack]:
    """The packs in their order.

    Raises:
        BadInput: no trajectories, too few for a pack, or trajectories of another harness.
    """
    trajectories = read_trajectories(trajectories_dir / TRAJECTORIES_FILE)
    check_harness(trajectories, harness.digest)
    start = first_seed(settings.seed)
    fixed = settings.sft.control == "fixed"
    packs = plan_packs(
        trajectories,
        [None if fixed else start + number for number in range(settings.augment.states)],
        settings.augment.tasks_per_state,
        settings.sft.openings_per_state,
        settings.seed,
    )
    if not settings.generate.twin_pairs:
        return packs
    domain = get_domain(settings.domain or harness.domain)
    pairs = training_pairs(harness, domain, settings.generate.twin_pairs, settings.seed)
    twins = plan_twin_packs(read_pairs(trajectories_dir, pairs), settings.augment.tasks_per_state)
    return mix(packs, twins, settings.seed)
