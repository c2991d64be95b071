"""Synthetic live sessions: who hosts, when it ends and which link is on air."""

from __future__ import annotations

import random

from hat.domains.live_shop.catalogue import Catalogue

SESSIONS_PER_SPLIT = 8
Session = dict[str, str | int]


def sample_session(catalogue: Catalogue, seed: int, split: str) -> Session:
    """The session `seed` of a split: {"host", "ends_at" as HH:MM, "showing" as a link id}."""
    draw = random.Random(f"{catalogue.seed}:session:{split}:{seed}")
    return {
        "host": draw.choice(catalogue.hosts[split]),
        "ends_at": f"{draw.randint(18, 23)}:{draw.choice((0, 10, 15, 20, 30, 40, 45, 50)):02d}",
        "showing": draw.choice(catalogue.links[split]),
    }


def split_sessions(catalogue: Catalogue, split: str) -> list[Session]:
    """The few sessions that tasks of a split share, so that many tasks have one system prompt."""
    return [sample_session(catalogue, seed, split) for seed in range(SESSIONS_PER_SPLIT)]
