"""Step ``augment``: plan the harness states of the run and prove the gates on each before any is trained on."""

from pathlib import Path

from hat.augment.folder import write_report, write_states
from hat.augment.plan import draw_states, expert_gold, prove_states
from hat.domains.base import domain_of
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
    gold = expert_gold(harness, domain_of(harness), "train")
    proof = prove_states(
        draw_states(harness, count=settings.states, run_seed=run_config.seed, split="train", config=settings),
        harness,
        settings,
        gold,
        lambda index: report("augment", index + 1, settings.states),
    )
    proof.require(harness)
    folder = Path(states_out_dir)
    write_report(folder, proof.report())
    write_states(folder, harness, settings, proof.planned)
