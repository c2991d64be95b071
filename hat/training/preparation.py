"""From a run's settings and trajectories to the packs that SFT trains on: the same in every process."""

from collections.abc import Sequence
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from hat.augment.plan import first_seed
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.runs.config import RunConfig
from hat.training.collator import PackCollator
from hat.training.composition import limit_rare, rare_allowed
from hat.training.packing import SegmentWeights
from hat.training.plan import PlannedPack, plan_packs
from hat.training.preflight import check_harness
from hat.training.twin_plan import mix, plan_twin_packs
from hat.trajectories.storage import read_trajectories
from hat.trajectories.twins import read_pairs, training_pairs
from hat.trajectories.validate_rows import TRAJECTORIES_FILE


def prepare_sft(
    settings: RunConfig, harness: Harness, trajectories_dir: Path, tokenizer: PreTrainedTokenizerBase
) -> Sequence[PlannedPack]:
    """The packs in their order.

    The control `fixed` gets no twins: one of each pair is under a changed harness.

    Raises:
        BadInput: no trajectories, too few for a pack, trajectories of another harness, or fewer tokens than
            `sft.token_budget`.
    """
    trajectories = read_trajectories(trajectories_dir / TRAJECTORIES_FILE)
    check_harness(trajectories, harness.digest)
    trajectories = limit_rare(trajectories, settings.sft.rare_share, settings.seed)
    start = first_seed(settings.seed)
    fixed = settings.sft.control == "fixed"
    packs: Sequence[PlannedPack] = plan_packs(
        trajectories,
        [None if fixed else start + number for number in range(settings.augment.states)],
        settings.augment.tasks_per_state,
        settings.sft.openings_per_state,
        settings.seed,
    )
    if settings.generate.twin_pairs and not fixed:
        packs = mix(packs, _twin_packs(settings, harness, trajectories_dir, packs), settings.seed)
    return _within_budget(packs, settings, collator(packs, settings, harness, tokenizer))


def collator(
    packs: Sequence[PlannedPack], settings: RunConfig, harness: Harness, tokenizer: PreTrainedTokenizerBase
) -> PackCollator:
    """What turns these packs into tensors, as the settings say."""
    weights = SegmentWeights(settings.sft.call_weight, settings.sft.reply_weight)
    return PackCollator(packs, harness, settings.augment, tokenizer, weights)


def _twin_packs(
    settings: RunConfig, harness: Harness, trajectories_dir: Path, packs: Sequence[PlannedPack]
) -> list[PlannedPack]:
    domain = get_domain(settings.domain or harness.domain)
    pairs = training_pairs(harness, domain, settings.generate.twin_pairs, settings.seed)
    played = read_pairs(trajectories_dir, pairs)
    if settings.sft.rare_share < 1:
        others = sum(len(pack.trajectories) + len(pack.openings) for pack in packs)
        played = played[: rare_allowed(others, settings.sft.rare_share) // 2]
    return plan_twin_packs(played, settings.augment.tasks_per_state)


def _within_budget(
    packs: Sequence[PlannedPack], settings: RunConfig, collate: PackCollator
) -> Sequence[PlannedPack]:
    """The first packs that together have at most `sft.token_budget` tokens; all where that is 0."""
    budget, total = settings.sft.token_budget, 0
    if budget == 0:
        return packs
    for number, pack in enumerate(packs):
        total += collate.tokens(pack)
        if total > budget:
            return packs[:number]
    if total < budget:
        raise BadInput(
            f"the {len(packs)} packs have {total:,} tokens, fewer than the {budget:,} of sft.token_budget",
            where="training data",
            mend="Raise augment.states, or lower sft.token_budget.",
        )
    return packs
