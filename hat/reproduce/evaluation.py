"""Step `evaluation` of a reproduction: one model on the items of one measurement."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hat.domains.base import get_domain
from hat.evaluation.config import EvaluateConfig
from hat.files import write_json_atomic
from hat.harness.load import load_harness
from hat.models import ModelRef, ModelStore
from hat.runs.places import open_run_store
from hat.runs.progress import report

DROPPED = ("question", "calls", "facts", "reply", "prompt", "state")
"""Long texts that a result file leaves out; the whole document stays in the store."""


def run(
    *,
    config: str,
    model_in: str,
    harness_dir: str,
    document_out: str,
    evaluate: str,
    full_suites: str,
    items: int,
    divergence: int,
    allow_commands: bool,
    others: str,
    base_in: str = "",
) -> None:
    """Write the evaluation document.

    Args:
        config: the run's settings, of which the code version and the seed enter through the step's key.
        harness_dir: the harness version that is asked.
        evaluate: `EvaluateConfig` as JSON text.
        full_suites: names of full suites as JSON text; where there are any, only they are asked, and of
            ``evaluate`` the decoding and the split count.
        items: of each full suite, in its own units; 0: its own number.
        divergence: general prompts on which the model is compared with the base; above 0, nothing else is asked.
        base_in: ModelRef of the base, where it is needed.
        others: what else decides the items, such as the digests of later versions: for the step's key alone.
    """
    settings = EvaluateConfig.model_validate(json.loads(evaluate))
    reference = ModelRef.read(Path(model_in))
    model = ModelStore(open_run_store()).materialise(reference)
    harness = replace(load_harness(Path(harness_dir)), commands_allowed=allow_commands)
    domain = get_domain(harness.domain)
    names = json.loads(full_suites)
    document: Mapping[str, Any]
    if divergence:
        from hat.evaluation.general_ability import SUITE, GeneralSettings, general_ability

        base = ModelStore(open_run_store()).materialise(ModelRef.read(Path(base_in)))
        compared = general_ability(model, base, GeneralSettings(prompts=divergence, seed=settings.seed))
        document = {"schema_version": 1, "suites": {SUITE: compared}}
    elif names:
        from hat.agent.policies.local import LocalPolicy
        from hat.evaluation.full_suites.run import run_suites
        from hat.evaluation.full_suites.settings import SuiteSettings

        document = run_suites(
            names,
            LocalPolicy(model, max_new_tokens=settings.max_new_tokens, batch_size=settings.batch_size),
            harness,
            domain,
            SuiteSettings(split=settings.split, seed=settings.seed, items=items or None),
            model_digest=reference.digest,
            progress=lambda suite, done, total: report("evaluation", done, total, suite),
        )
    else:
        from hat.evaluation.run import evaluate as evaluate_suites

        document = evaluate_suites(
            model,
            harness,
            domain,
            settings,
            model=reference.base,
            model_digest=reference.digest,
            progress=lambda done, total: report("evaluation", done, total),
        )
    write_json_atomic(Path(document_out), document)


def rows_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row an item: what an evaluation says of it without its texts."""
    return [
        _row(item, suite) for suite, result in document["suites"].items() for item in result.get("items", ())
    ]


def _row(item: Mapping[str, Any], suite: str) -> dict[str, Any]:
    state = item["state"]
    described = isinstance(state, Mapping)
    return {
        **{name: value for name, value in item.items() if name not in DROPPED},
        "suite": suite,
        "state_digest": state["digest"] if described else state,
        "families": list(state["families"]) if described else [],
        "layout": state["layout"] if described else "",
    }
