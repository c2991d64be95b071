"""Evaluates one model under one harness on the four suites, with the baseline beside it on the same items."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hat.agent.episode import Episode
from hat.agent.faults import with_faults
from hat.agent.policies.local import LocalPolicy
from hat.agent.policy import Executor, Policy
from hat.augment.test_use import log_test_use
from hat.domains.base import Domain
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.evaluation.distractors import answering_distractors
from hat.evaluation.ifeval import Generate, run_instruction_following
from hat.evaluation.proof import prove_items
from hat.evaluation.results import item_result, suite_result
from hat.evaluation.robustness import ROBUSTNESS, blind_policy
from hat.evaluation.rotbench import rotbench_suite
from hat.evaluation.suites import SuiteItem, build_suites
from hat.files import canonical_json, sha256_text
from hat.harness.model import Harness
from hat.trajectories.record import Trajectory

Progress = Callable[[int, int], None]
"""(episodes done, episodes in all)"""


def evaluate(
    model_folder: Path,
    harness: Harness,
    domain: Domain,
    config: EvaluateConfig,
    *,
    model: str = "",
    model_digest: str = "",
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """The evaluation document of a Hugging Face model folder; see `evaluate_policy`.

    Each evaluation on the test split is logged (`hat.augment.test_use`).
    """
    use = f"evaluate {model or Path(model_folder).name}"
    if config.split == "test":
        items = [item for suite in build_suites(harness, domain, config).values() for item in suite]
        log_test_use(use, harness, [item.state for item in items])
    if config.robustness.rotbench is not None:
        published, _ = _tool_lists(config)
        log_test_use(f"{use}, RoTBench", harness, [item.state for item in published])
    policy = LocalPolicy(model_folder, max_new_tokens=config.max_new_tokens, batch_size=config.batch_size)
    document = evaluate_policy(
        policy,
        harness,
        domain,
        config,
        generate=plain_chat(policy, config.instruction_tokens),
        progress=progress,
    )
    return {**document, "model": model or Path(model_folder).name, "model_digest": model_digest}


def evaluate_policy(
    policy: Policy,
    harness: Harness,
    domain: Domain,
    config: EvaluateConfig,
    *,
    generate: Generate | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Play every item once and score it.

    Args:
        generate: answers plain prompts; None leaves instruction following out.

    Returns:
        A document ``{schema_version, harness, version, harness_digest, model, model_digest, split,
        items_digest, suites}``; see `hat.evaluation.results` for a suite.

    Raises:
        BadInput: no suite is asked for, or items cannot be made.
    """
    suites = build_suites(harness, domain, config)
    items = [item for suite in suites.values() for item in suite]
    asked = config.instruction_following if generate is not None else 0
    if not items and not asked and config.robustness.rotbench is None:
        raise BadInput(
            "no suite has any item", where="evaluate", mend="Ask for at least one item of a suite."
        )
    prove_items(items, harness, domain, config.split)
    judged = score_items(items, play_items(policy, items, domain, progress), harness, domain)
    documents = {suite: [judged[item.id] for item in members] for suite, members in suites.items()}
    if config.robustness.rotbench is not None:
        published, tool_choice = _tool_lists(config)
        played = play_items(policy, published, tool_choice, progress)
        further = score_items(published, played, harness, tool_choice)
        documents.setdefault(ROBUSTNESS, []).extend(further.values())
    results: dict[str, Any] = {suite: suite_result(members) for suite, members in documents.items()}
    if generate is not None and asked:
        general = run_instruction_following(
            generate, asked, config.seed, config.instruction_prompts, token_cap=config.instruction_tokens
        )
        results[general.pop("suite")] = general
    return {
        "schema_version": 1,
        "harness": harness.name,
        "version": harness.version,
        "harness_digest": harness.digest,
        "model": policy.name,
        "model_digest": "",
        "split": config.split,
        "items_digest": items_digest(results),
        "suites": results,
    }


def _tool_lists(config: EvaluateConfig) -> tuple[list[SuiteItem], Domain]:
    """The items over published tool lists, whose domain is their own."""
    assert config.robustness.rotbench is not None
    return rotbench_suite(Path(config.robustness.rotbench), config.robustness.rotbench_records)


def play_items(
    policy: Policy, items: Sequence[SuiteItem], domain: Domain, progress: Progress = lambda done, total: None
) -> dict[str, Trajectory]:
    """Play all items together; trajectories by item id.

    Raises:
        BadInput: two items would be confused, since they share an id.
    """
    if len({item.id for item in items}) != len(items):
        raise BadInput("two items of the suites have the same id", where="evaluate")
    episodes = [Episode(item.state, item.task, domain, item.id) for item in items]
    done = 0

    def on_done(index: int) -> None:
        nonlocal done
        done += 1
        progress(done, len(items))

    policy.play(episodes, _executor(items, domain), on_done)
    return {item.id: episode.trajectory(policy.name) for item, episode in zip(items, episodes, strict=True)}


def score_items(
    items: Sequence[SuiteItem], trajectories: Mapping[str, Trajectory], harness: Harness, domain: Domain
) -> dict[str, dict[str, Any]]:
    """The items' documents by id, with the baseline's score and, of twins, the harness-blind policy's beside each.

    Args:
        harness: what the harness-blind policy knows by heart.
    """
    baseline = play_items(domain.baseline(), items, domain)
    twins = [item for item in items if item.pair]
    unseeing = play_items(blind_policy(harness, domain), twins, domain) if twins else {}
    documents = {}
    for item in items:
        scores = domain.score(item.task, trajectories[item.id], item.state.canonical)
        floor = domain.score(item.task, baseline[item.id], item.state.canonical)
        blind = domain.score(item.task, unseeing[item.id], item.state.canonical) if item.pair else None
        documents[item.id] = item_result(item, trajectories[item.id], scores, floor.accuracy, blind)
    return documents


def plain_chat(policy: LocalPolicy, max_new_tokens: int) -> Generate:
    """Greedy replies to plain prompts, without harness, tools or system prompt, by the policy's model."""

    def generate(prompts: Sequence[str]) -> list[str]:
        from hat.models.generation import Sample, Sampling, converse

        replies = [""] * len(prompts)

        def keep(index: int, sample: Sample) -> None:
            replies[index] = policy.tokens.decode(sample.ids)

        converse(
            policy.model,
            [policy.tokens.opening([{"role": "user", "content": prompt}], None) for prompt in prompts],
            keep,
            stop_ids=[policy.tokens.stop_id],
            sampling=Sampling(max_new_tokens=max_new_tokens),
            slots=policy.batch_size,
        )
        return replies

    return generate


def items_digest(suites: dict[str, Any]) -> str:
    """SHA-256 over which items were asked, whatever the answers: equal digests compare item by item."""
    asked = {
        suite: [[item["id"], item["task_digest"], _state_digest(item["state"])] for item in result["items"]]
        for suite, result in suites.items()
    }
    return sha256_text(canonical_json(asked))


def _state_digest(state: Any) -> str:
    return str(state["digest"]) if isinstance(state, dict) else str(state)


def _executor(items: Sequence[SuiteItem], domain: Domain) -> Executor:
    schedules = {item.task.id: item.faults for item in items if item.faults is not None}
    shared = {item.task.id for item in items if item.faults is None} & schedules.keys()
    if shared:
        raise BadInput(f"task {min(shared)} is asked with and without faults", where="evaluate")
    return with_faults(answering_distractors(domain.execute), schedules)
