"""Step ``augment``: plan the harness states of the run and prove the gates on each before any is trained on."""

from pathlib import Path

from hat.augment.folder import write_report, write_states
from hat.augment.plan import expert_gold, sample_states, verification_report, verify_states
from hat.augment.verify import GATES
from hat.domains.base import domain_of
from hat.errors import BadInput
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.runs.progress import report
from hat.steps.subject import Subject


def run(*, config: str, subject: str, states_out_dir: str) -> None:
    """Write ``states.json`` and ``verification.json``.

    Raises:
        BadInput: a gate fails on a state, or the domain's expert fails under the harness.
    """
    run_config = RunConfig.read(config)
    harness = Subject.read(subject).load_harness(open_run_store())
    settings = run_config.augment
    states = sample_states(
        harness, count=settings.states, run_seed=run_config.seed, split="train", config=settings
    )
    gold = expert_gold(harness, domain_of(harness), "train")
    failures = verify_states(
        states, harness, settings, gold, lambda index: report("augment", index + 1, len(states))
    )
    if failures:
        first = failures[0]
        raise BadInput(
            f"gate {first.gate} fails on state {first.seed} ({', '.join(first.families)}): {first.message}",
            where=f"{harness.name}@{harness.version}",
            mend=f"{len(failures)} failures in all; leave the family out of augment.families or mend the harness.",
        )
    folder = Path(states_out_dir)
    write_report(folder, verification_report(states, failures, GATES))
    write_states(folder, harness, settings, states)
