"""Digests of tasks that nothing may be trained on: hand-written questions, samples of the held-out splits."""

from hat.domains.base import Domain, Split

SAMPLED_SEEDS = range(8)
HELD_OUT_SPLITS: tuple[Split, ...] = ("dev", "test")


def sampled_digests(domain: Domain, tasks_per_seed: int) -> dict[str, str]:
    """Task digest -> where it is held out for, e.g. ``test``.

    Splits are disjoint by construction; this looks whether they are, on tasks of small seeds.
    """
    digests = {task.digest: "hand-written" for task in domain.hand_written_tasks()}
    for split in HELD_OUT_SPLITS:
        for seed in SAMPLED_SEEDS:
            digests.update({task.digest: split for task in domain.sample_tasks(split, tasks_per_seed, seed)})
    return digests
