"""The machine-checked gates of a harness state: what must hold before a state may be trained or evaluated on.

G1 the same inputs give the same state, and it differs from the harness only where and as its families may change it.
G2 presented names are legal, injective and collide with nothing; no old name is left at a symbol position.
G3 presenting the gold and replaying it gives the same canonical episode and scores.
G4 mutants of the gold (wrong tool, argument or skill, no skill, a broken rule, an old name) still fail.
G5 decoding an encoded call gives the call back, for arguments generated from the schema.
G6 every symbol and value of the gold can be derived from the rendered context, and it fits the limits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from hat.augment.config import AugmentConfig
from hat.augment.state import HarnessState
from hat.augment.verify.declared import check_declared
from hat.augment.verify.finding import Finding, GateFailure
from hat.augment.verify.gold import Gold, Subject
from hat.augment.verify.mutants import check_mutants
from hat.augment.verify.names import check_names
from hat.augment.verify.replay import check_replay
from hat.augment.verify.round_trip import check_round_trip
from hat.augment.verify.sufficiency import check_sufficiency
from hat.errors import BadInput
from hat.harness.model import Harness

CHECKS: Mapping[str, Callable[[Subject], Iterator[Finding]]] = {
    "G1": check_declared,
    "G2": check_names,
    "G3": check_replay,
    "G4": check_mutants,
    "G5": check_round_trip,
    "G6": check_sufficiency,
}
GATES = tuple(CHECKS)

__all__ = ["CHECKS", "GATES", "Finding", "GateFailure", "Gold", "Subject", "verify_state"]


def verify_state(
    state: HarnessState,
    harness: Harness,
    config: AugmentConfig,
    gold: Gold,
    *,
    again: Callable[[], HarnessState] | None = None,
    gates: Sequence[str] = GATES,
) -> list[GateFailure]:
    """All gates of one state; an empty list when they hold.

    Args:
        harness: what the state was made of.
        gold: accepted trajectories under ``harness``, best of every intent; all are replayed.
        again: makes the state a second time; by default it is sampled again from its seed.
        gates: which to ask.
    """
    subject = Subject(state, harness, config, gold, again)
    return [GateFailure.of(gate, state, finding) for gate in gates for finding in _findings(gate, subject)]


def _findings(gate: str, subject: Subject) -> list[Finding]:
    try:
        return list(CHECKS[gate](subject))
    except BadInput as error:
        # A state so broken that an episode cannot even be played or scored under it.
        return [Finding("harness", str(error))]
