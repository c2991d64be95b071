"""Step `generate`: trajectories of the training tasks, and of those only what the scorers accept."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task, get_domain
from hat.errors import BadInput
from hat.files import canonical_json, sha256_text, write_json_atomic, write_text_atomic
from hat.harness.model import Harness
from hat.home import hat_home
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.runs.progress import report
from hat.steps.journal import current_key
from hat.steps.subject import Subject
from hat.trajectories.faulty import faulty_executor
from hat.trajectories.generate import choose_policy, play_tasks
from hat.trajectories.journal import EpisodeJournal
from hat.trajectories.judge import Judge
from hat.trajectories.mined import held_out_questions, mined_tasks, read_mined
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import select, without_blocked_turns
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
    intents = _weighted_intents(domain, settings.generate.intent_weights)
    tasks = domain.sample_tasks("train", settings.generate.tasks, settings.seed * _TASK_SEED_STRIDE, intents)
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
    judged, mined = _mined(settings, domain, harness, tasks)
    folder = Path(trajectories_out_dir)
    pairs = []
    if settings.generate.twin_pairs:
        pairs = training_pairs(harness, domain, settings.generate.twin_pairs, settings.seed)
        pairs_played = play_pairs(policy, pairs, domain)
        write_pairs(folder, pairs_played)
    text = _as_lines([*selection.accepted, *judged])
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
            "mined": mined,
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


def _weighted_intents(domain: Domain, weights: Mapping[str, int]) -> list[str]:
    """Every intent of the domain, as often as it weighs."""
    unknown = sorted(set(weights) - set(domain.intents))
    if unknown:
        raise BadInput(
            f"unknown intent {unknown[0]!r}",
            where="generate.intent_weights",
            mend=f"Known: {', '.join(domain.intents)}.",
        )
    return [intent for intent in domain.intents for _ in range(weights.get(intent, 1))]


def _mined(
    settings: RunConfig, domain: Domain, harness: Harness, tasks: Sequence[Task]
) -> tuple[list[Trajectory], dict[str, Any]]:
    """Episodes of mined questions that the judge accepted, and what became of the questions."""
    config = settings.generate
    if not config.mined_questions:
        return [], {}
    judge = Judge(config.judge)
    if config.policy != "endpoint":
        raise BadInput(
            "the scripted expert can only answer questions that have gold, and mined ones have none",
            where="generate.policy",
            mend="Set generate.policy=endpoint, or leave generate.mined_questions empty.",
        )
    questions, rejected = mined_tasks(
        read_mined(config.mined_questions, open_run_store()),
        [task.session for task in tasks],
        held_out_questions(domain, settings.validation.held_out_tasks),
        config.mined_limit,
    )
    if not questions:
        return [], {"asked": 0, "accepted": 0, "rejected": dict(rejected), "judge": config.judge.model}
    episodes = [Episode(HarnessState.original(harness), task, domain) for task in questions]
    policy = choose_policy(config, domain, settings.seed)
    policy.play(episodes, domain.execute, lambda index: None)
    played = [without_blocked_turns(episode.trajectory(policy.name)) for episode in episodes]
    replied = [each for each in played if each.end == "replied"]
    rejected.update(each.end for each in played if each.end != "replied")
    accepted = []
    for trajectory, judgement in zip(replied, judge.judge(replied), strict=True):
        if judgement.accepted:
            accepted.append(trajectory)
        else:
            rejected["refused_by_judge"] += 1
    asked = {"asked": len(questions), "accepted": len(accepted), "rejected": dict(sorted(rejected.items()))}
    return accepted, {**asked, "judge": config.judge.model}


def _as_lines(trajectories: Sequence[Trajectory]) -> str:
    return "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in trajectories)
