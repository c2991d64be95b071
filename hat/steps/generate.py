"""Step `generate`: trajectories of the training tasks, and of those only what the scorers accept."""

import json
from collections.abc import Sequence
from pathlib import Path

from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.files import canonical_json, sha256_text, write_json_atomic, write_text_atomic
from hat.home import hat_home
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.runs.progress import report
from hat.steps.journal import current_key
from hat.steps.subject import Subject
from hat.trajectories.faulty import faulty_executor
from hat.trajectories.generate import choose_policy, play_tasks
from hat.trajectories.journal import EpisodeJournal
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import select
from hat.trajectories.twins import play_pairs, training_pairs, write_pairs
from hat.trajectories.validate_rows import TRAJECTORIES_FILE

STEP = "generate"
SUMMARY = "summary.json"
_TASK_SEED_STRIDE = 1_000
"""Distance between the task seeds of two runs' seeds."""


def run(*, config: str, subject: str, states_dir: str, trajectories_out_dir: str) -> None:
    """Write ``trajectories.jsonl`` (canonical, accepted, scored) and ``summary.json`` (counts and digests).

    Where twins are asked for, ``twins.jsonl`` holds those of their pairs.

    Args:
        states_dir: the planned states. Canonical trajectories are presented under them when they are trained
            on, so nothing of them enters here; regenerating transforms will need them.

    Raises:
        BadInput: the tasks cannot be made, or not one trajectory was accepted.
        EnvironmentFailure: the strong model's endpoint fails; the next attempt goes on from there.
    """
    settings = RunConfig.read(config)
    harness = Subject.read(subject).load_harness(open_run_store())
    domain = get_domain(settings.domain or harness.domain)
    policy = choose_policy(settings.generate, domain, settings.seed)
    tasks = domain.sample_tasks("train", settings.generate.tasks, settings.seed * _TASK_SEED_STRIDE)
    # Named by what decides its episodes, so that the next attempt of the same work finds it, and no other.
    parts = [settings.generate.model_dump(mode="json"), settings.seed, harness.digest, settings.code_version]
    name = current_key() or sha256_text(canonical_json(parts))
    journal = EpisodeJournal(hat_home() / "journals" / f"{STEP}-{name}.jsonl")
    played = play_tasks(
        policy,
        tasks,
        HarnessState.original(harness),
        domain,
        journal,
        lambda done, total: report(STEP, done, total, policy.name),
        faulty_executor(domain, tasks, settings.generate.fault_share, settings.seed),
    )
    selection = select(
        played,
        domain,
        harness,
        whole_retry_share=settings.generate.whole_retry_share,
        seed=settings.seed,
    )
    if not selection.accepted:
        reasons = ", ".join(f"{reason} {count}" for reason, count in selection.rejected.items())
        raise BadInput(
            f"none of {len(played)} trajectories was accepted: {reasons}",
            where=f"{harness.name}@{harness.version}",
            mend="The policy does not work under this harness; `hat report` shows its episodes.",
        )
    folder = Path(trajectories_out_dir)
    pairs = []
    if settings.generate.twin_pairs:
        pairs = training_pairs(harness, domain, settings.generate.twin_pairs, settings.seed)
        pairs_played = play_pairs(policy, pairs, domain)
        write_pairs(folder, pairs_played)
    text = _as_lines(selection.accepted)
    write_text_atomic(folder / TRAJECTORIES_FILE, text)
    write_json_atomic(
        folder / SUMMARY,
        {
            "schema_version": 1,
            "policy": policy.name,
            "harness": harness.name,
            "version": harness.version,
            "harness_digest": harness.digest,
            "tasks": len(tasks),
            "accepted": len(selection.accepted),
            "rejected": selection.rejected,
            "retries_collapsed": selection.collapsed,
            "retries_kept_whole": selection.kept_whole,
            "trajectories_digest": sha256_text(text),
            **({"twin_pairs": len(pairs), "twin_pairs_accepted": len(pairs_played)} if pairs else {}),
            "tasks_digest": sha256_text(canonical_json(sorted(task.digest for task in tasks))),
        },
    )
    journal.remove()


def _as_lines(trajectories: Sequence[Trajectory]) -> str:
    return "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in trajectories)
