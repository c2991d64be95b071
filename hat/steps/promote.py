"""The `promote` step: put a pair that passed the gate into production, in one atomic write."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.files import canonical_json, read_json, sha256_text, write_json_atomic
from hat.promotion.ledger import Proposal, promote
from hat.promotion.semver import precedence
from hat.runs.places import open_run_store, run_id, user_name
from hat.steps.subject import Subject


def run(
    *,
    config: str,
    subject: str,
    model_in: str,
    verdict: str,
    promotion_out: str,
    who: str = "",
    when: str = "",
    reason: str = "",
) -> int:
    """Append the pair to the ledger of its environment and return the entry's sequence number.

    A run of an older version than the one in production proves its pair and promotes nothing: it returns 0 and
    writes ``{"promoted": false, "reason": ...}``.

    Args:
        config: `config.json`; the step reads nothing of it.
        subject: `subject.json` of the run.
        model_in: the ModelRef (JSON) of the model to promote.
        verdict: `verdict.json` of the `decide` step.
        promotion_out: where the ledger entry is written.
        who: who promotes; empty: the user of this process.
        when: UTC time, ISO 8601; empty: now.
        reason: why; empty: which of the two ways the pair was proven.

    Raises:
        BadInput: the verdict is not PASS or is about another pair, or a newer version is in production.
        StaleBaseline: another promotion came in between.
        EnvironmentFailure: the store fails.
    """
    about = Subject.read(subject)
    model = read_json(Path(model_in))
    judged = read_json(Path(verdict))
    _check_verdict(judged, about, model, where=verdict)
    if (held_back := _older_than_production(about)) is not None:
        write_json_atomic(Path(promotion_out), {"schema_version": 1, "promoted": False, "reason": held_back})
        return 0
    proposal = Proposal(
        environment=about.environment,
        harness=about.harness,
        version=about.version,
        harness_digest=about.harness_digest,
        model=model,
        run=run_id(),
        verdict_digest=sha256_text(canonical_json(judged)),
        evidence_digest=judged["evidence_digest"],
        who=who or user_name(),
        when=when or datetime.now(UTC).isoformat(timespec="seconds"),
        reason=reason.strip() or _reason(about, model, judged),
    )
    entry = promote(open_run_store(), proposal, expected_head=about.ledger_head)
    write_json_atomic(Path(promotion_out), entry.to_json())
    return entry.sequence


def _older_than_production(about: Subject) -> str | None:
    """Why the pair cannot go into production although it passed: known since the run began, so no failure."""
    current = about.production_version
    if current is None or precedence(about.version) >= precedence(current):
        return None
    return f"version {current} is in production; {about.version} is older and does not replace it"


def _check_verdict(judged: Any, about: Subject, model: Any, *, where: str) -> None:
    """A verdict promotes the one pair that it is about, against the one baseline it was compared with."""
    if not isinstance(judged, dict) or not isinstance(model, dict):
        raise BadInput("the verdict and the model must be JSON objects", where=where)
    if judged.get("verdict") != "PASS":
        raise BadInput(f"the verdict is {judged.get('verdict')}: only PASS promotes", where=where)
    if judged.get("environment") != about.environment:
        raise BadInput(f"the verdict is for environment {judged.get('environment')!r}", where=where)
    measured = judged.get("subject") or {}
    models = measured.get("models") or {}
    production = None if about.production is None else about.production.get("digest")
    pairs = (
        ("harness", measured.get("harness"), about.harness),
        ("harness version", measured.get("version"), about.version),
        ("harness digest", measured.get("harness_digest"), about.harness_digest),
        ("model", models.get("candidate"), model.get("digest")),
        ("model in production", models.get("production"), production),
        ("ledger head", measured.get("ledger_head"), about.ledger_head),
    )
    for name, judged_value, value in pairs:
        if judged_value != value:
            raise BadInput(f"the verdict is about {name} {judged_value!r}, not {value!r}", where=where)


def _reason(about: Subject, model: Any, judged: Any) -> str:
    kept = about.production is not None and about.production.get("digest") == model.get("digest")
    way = "the model in production passed under this version" if kept else "a newly trained model passed"
    return f"{way} (gate policy {str(judged.get('policy_digest'))[:12]})"
