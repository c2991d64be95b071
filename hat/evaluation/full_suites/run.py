"""Plays the full suites with any policy: one document, each item with the digests of its state and its task."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from hat.agent.policies.local import Rollout
from hat.agent.policy import Policy
from hat.augment.test_use import log_test_use
from hat.domains.base import Domain
from hat.errors import BadInput
from hat.evaluation.full_suites import evolution, robustness, variants
from hat.evaluation.full_suites.behaviour import Recorded, behaviour
from hat.evaluation.full_suites.registry import build_suite
from hat.evaluation.full_suites.settings import Suite, SuiteSettings
from hat.evaluation.full_suites.summary import behaviour_summary, macro_summary, verdict_flips
from hat.evaluation.proof import prove_states
from hat.evaluation.results import suite_result
from hat.evaluation.run import items_digest, play_items, score_items
from hat.harness.model import Harness

Progress = Callable[[str, int, int], None]
"""(suite, episodes done, episodes in all)"""


def run_suites(
    names: Sequence[str],
    policy: Policy,
    harness: Harness,
    domain: Domain,
    settings: SuiteSettings | None = None,
    *,
    model_digest: str = "",
    progress: Progress = lambda suite, done, total: None,
) -> dict[str, Any]:
    """The evaluation document of a policy on the named suites; every use of the test split is logged.

    Args:
        harness: what the policy was trained under; `evolution` asks under the versions after it.

    Returns:
        A document as of `hat.evaluation.run.evaluate_policy`. Each suite also has ``worst_state``,
        ``adherence_by_turn``, ``tokens_per_tool_call`` and ``tokens_per_reply``;
        `tool_prompt_robustness_full` has ``macro_accuracy`` and ``components``; the paired variants have
        ``verdict_flips`` against `variant_reference` where both are asked.

    Raises:
        BadInput: no name, an unknown one, items that cannot be made, or a state that a gate refuses.
    """
    settings = settings or SuiteSettings()
    if not names:
        raise BadInput("no suite is named", where="evaluate")
    # All are drawn before any is played: what cannot be made is said at once.
    suites = [build_suite(name, harness, domain, settings) for name in dict.fromkeys(names)]
    results = {}
    for suite in suites:
        if settings.split == "test":
            states = [item.state for item in suite.items]
            log_test_use(f"suite {suite.name} for {policy.name}", harness, states)
        results[suite.name] = run_suite(suite, policy, harness, domain, settings, progress)
    _add_flips(results)
    return {
        "schema_version": 1,
        "harness": harness.name,
        "version": harness.version,
        "harness_digest": harness.digest,
        "model": policy.name,
        "model_digest": model_digest,
        "split": settings.split,
        "settings": settings.model_dump(mode="json"),
        "items_digest": items_digest(results),
        "suites": results,
    }


def run_suite(
    suite: Suite,
    policy: Policy,
    harness: Harness,
    domain: Domain,
    settings: SuiteSettings,
    progress: Progress = lambda suite, done, total: None,
) -> dict[str, Any]:
    """One suite's result: states are proven, items played, scored and summed up."""
    states = {item.state.digest: item.state for item in suite.items}
    proven = suite.sampled_with.keys() | suite.changed
    prove_states(
        [(state, suite.sampled_with.get(digest)) for digest, state in states.items() if digest in proven],
        harness,
        domain,
        settings.split,
    )
    recorded = Recorded(policy)
    trajectories = play_items(
        recorded, suite.items, domain, lambda done, total: progress(suite.name, done, total)
    )
    documents = score_items(suite.items, trajectories, harness, domain)
    rollouts: Sequence[Rollout | None] = recorded.rollouts or [None] * len(suite.items)
    items = [
        {**documents[item.id], **behaviour(trajectories[item.id], rollout)}
        for item, rollout in zip(suite.items, rollouts, strict=True)
    ]
    result = suite_result(items)
    extra = macro_summary(items) if suite.name == robustness.NAME else {}
    return {**{key: value for key, value in result.items() if key != "items"}, **extra,
            **behaviour_summary(items), "items": items}  # fmt: skip


def _add_flips(results: dict[str, dict[str, Any]]) -> None:
    """Of each paired suite asked together with its reference, and from each version of the chain to the next."""
    reference = results.get(variants.UNCHANGED)
    for name in variants.PAIRED[1:]:
        if reference and name in results:
            results[name]["verdict_flips"] = verdict_flips(reference["items"], results[name]["items"])
    if evolution.NAME in results:
        items = results[evolution.NAME]["items"]
        versions = list(dict.fromkeys(item["kind"] for item in items))
        of = {version: [item for item in items if item["kind"] == version] for version in versions}
        results[evolution.NAME]["verdict_flips"] = {
            f"{before} to {after}": verdict_flips(of[before], of[after])
            for before, after in pairwise(versions)
        }
