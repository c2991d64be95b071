"""Whether evidence may be used at all: the harness and models it names, accepted equipment, no leakage."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hat.files import canonical_json
from hat.promotion.documents import DIGEST, ITEM_LABELS, EvaluationDocument, EvidenceSubject, Item, Role
from hat.promotion.evidence import Evidence, evaluation_file
from hat.promotion.policy import Policy
from hat.promotion.reasons import Reason, ReasonCode

_NAMED = 3
"""How many offenders a message names."""


@dataclass(frozen=True)
class Checked:
    """The evaluations that may be used, and what was found on the way."""

    usable: Mapping[Role, EvaluationDocument]
    reasons: tuple[Reason, ...]


def check_integrity(
    policy: Policy, evidence: Evidence, subject: EvidenceSubject, environment: str
) -> Checked:
    """Check everything that is not a measurement. A document about something else is not used."""
    reasons = []
    if subject.environment != environment:
        reasons.append(
            Reason(
                ReasonCode.ENVIRONMENT_MISMATCH,
                "subject.environment",
                f"the evidence is from {subject.environment!r}, the policy is for {environment!r}",
            )
        )
    reasons += equipment_reasons(policy, subject.engine, subject.hardware, "subject")
    usable: dict[Role, EvaluationDocument] = {}
    for role, document in sorted(evidence.evaluations.items()):
        found = list(_attribution(role, document, subject))
        reasons += found
        if not found:
            usable[role] = document
    if "candidate" not in evidence.evaluations and not _already_faulted(evidence, "candidate"):
        reasons.append(missing(evaluation_file("candidate"), "the candidate was not evaluated"))
    if (subject.models.production is None) != (subject.ledger_head == 0):
        message = f"the ledger's head was {subject.ledger_head}, yet the subject states " + (
            "no model in production" if subject.models.production is None else "a model in production"
        )
        reasons.append(Reason(ReasonCode.INCONSISTENT, "subject.ledger_head", message))
    reasons += _repeated(usable)
    reasons += _one_model_two_results(subject, usable)
    reasons += _labels(usable)
    reasons += _leakage(evidence, usable)
    return Checked(usable, tuple(reasons))


def missing(metric: str, message: str) -> Reason:
    """The finding that something is not there."""
    return Reason(ReasonCode.MISSING_EVIDENCE, metric, message)


def name_some(names: Iterable[str]) -> str:
    """The first few of ``names``, sorted, and how many more there are."""
    ordered = sorted(names)
    more = f" and {len(ordered) - _NAMED} more" if len(ordered) > _NAMED else ""
    return ", ".join(ordered[:_NAMED]) + more


def equipment_reasons(policy: Policy, engine: str, hardware: str, metric: str) -> list[Reason]:
    """Findings about an engine or hardware that the policy does not name."""
    reasons = []
    if engine not in policy.engines:
        accepted = ", ".join(policy.engines)
        message = f"engine {engine!r} is not accepted here (accepted: {accepted})"
        reasons.append(Reason(ReasonCode.ENGINE_NOT_ALLOWED, f"{metric}.engine", message))
    if hardware.casefold() not in {name.casefold() for name in policy.hardware}:
        accepted = ", ".join(policy.hardware)
        message = f"hardware {hardware!r} is not accepted here (accepted: {accepted})"
        reasons.append(Reason(ReasonCode.HARDWARE_NOT_ALLOWED, f"{metric}.hardware", message))
    return reasons


def _attribution(role: Role, document: EvaluationDocument, subject: EvidenceSubject) -> Iterable[Reason]:
    where = evaluation_file(role)
    measured = (document.harness, document.version, document.harness_digest)
    expected = (subject.harness, subject.version, subject.harness_digest)
    if measured != expected:
        yield Reason(
            ReasonCode.HARNESS_MISMATCH,
            where,
            f"the {role} model was measured under {measured[0]}@{measured[1]} ({measured[2][:12]}), "
            f"the subject is {expected[0]}@{expected[1]} ({expected[2][:12]})",
        )
    digest = getattr(subject.models, role)
    if document.model_digest != digest:
        stated = "no such model" if digest is None else f"model {digest[:12]}"
        message = f"measured model {document.model_digest[:12]}, but the subject states {stated} as {role}"
        yield Reason(ReasonCode.MODEL_MISMATCH, where, message)


def _repeated(usable: Mapping[Role, EvaluationDocument]) -> Iterable[Reason]:
    """Findings about items that are others under new names: every bound counts them as so many observations."""
    for role, document in usable.items():
        for suite, result in document.suites.items():
            asked = Counter((item.task_digest, canonical_json(item.state)) for item in result.items)
            again = [i.id for i in result.items if asked[i.task_digest, canonical_json(i.state)] > 1]
            if again:
                message = (
                    f"{suite} of the {role} model asks the same task under the same harness state more than once: "
                    f"{name_some(again)}"
                )
                yield Reason(ReasonCode.INCONSISTENT, f"{suite}.items", message)


def _one_model_two_results(
    subject: EvidenceSubject, usable: Mapping[Role, EvaluationDocument]
) -> Iterable[Reason]:
    """Findings about a screen whose candidate, the model in production, was judged otherwise as production."""
    if not subject.screens_production or not {"production", "candidate"} <= set(usable):
        return
    for suite, result in usable["candidate"].suites.items():
        other = usable["production"].suites.get(suite)
        scores = {} if other is None else {item.id: item.correct for item in other.items}
        odd = [item.id for item in result.items if item.id in scores and item.correct != scores[item.id]]
        if odd:
            message = (
                f"{suite}: the candidate is the model in production, yet {len(odd)} of their items are scored "
                f"differently: {name_some(odd)}"
            )
            yield Reason(ReasonCode.INCONSISTENT, f"{suite}.accuracy", message)


def _labels(usable: Mapping[Role, EvaluationDocument]) -> Iterable[Reason]:
    """Findings about items that are of one slice for one model and of another for the next: a slice could hide them."""
    by_suite: dict[str, dict[str, tuple[Role, Item]]] = {}
    for role, document in usable.items():
        for suite, result in document.suites.items():
            seen = by_suite.setdefault(suite, {})
            other = {item.id: seen.setdefault(item.id, (role, item)) for item in result.items}
            for label in ITEM_LABELS:
                odd = [i.id for i in result.items if getattr(i, label) != getattr(other[i.id][1], label)]
                if odd:
                    roles = f"the {other[odd[0]][0]} and the {role} model"
                    message = (
                        f"{suite}: {label} of {len(odd)} items differs between {roles}: {name_some(odd)}"
                    )
                    yield Reason(ReasonCode.MISMATCHED_ITEMS, f"{suite}.{label}", message)


def _leakage(evidence: Evidence, usable: Mapping[Role, EvaluationDocument]) -> Iterable[Reason]:
    if evidence.training_digests is None:
        yield missing("leakage", "which items were trained on is not recorded, so leakage cannot be excluded")
        return
    evaluated = {
        item.task_digest: f"{name} {item.id}"
        for document in usable.values()
        for name, suite in document.suites.items()
        for item in suite.items
    }
    unknown = [name for digest, name in evaluated.items() if not digest]
    if unknown:
        yield missing("leakage", f"evaluated items without a digest of their content: {name_some(unknown)}")
    shapes = {
        (len(digest), DIGEST.fullmatch(digest) is not None)
        for digest in (*evaluated, *evidence.training_digests)
        if digest
    }
    if len(shapes) > 1 or not all(is_digest for _, is_digest in shapes):
        message = "digests of evaluated items and of those trained on differ in form, so none can be found among them"
        yield Reason(ReasonCode.INCONSISTENT, "leakage", message)
        return
    models = evidence.subject.models if evidence.subject else None
    if models is not None and not evidence.training_digests and models.base not in (None, models.candidate):
        message = "the candidate is not the base model, yet no item is recorded that it was trained on"
        yield missing("leakage", message)
        return
    leaked = [evaluated[digest] for digest in evaluated.keys() & evidence.training_digests]
    numbers = {"leaked": len(leaked), "evaluated": len(evaluated), "trained": len(evidence.training_digests)}
    if leaked:
        message = f"{len(leaked)} evaluated items were trained on: {name_some(leaked)}"
        yield Reason(ReasonCode.LEAKED_ITEMS, "leakage", message, numbers)
    else:
        trained = len(evidence.training_digests)
        message = f"none of {len(evaluated)} evaluated items is among {trained} trained on"
        yield Reason(ReasonCode.MET, "leakage", message, numbers)


def _already_faulted(evidence: Evidence, role: Role) -> bool:
    return any(problem.metric == evaluation_file(role) for problem in evidence.problems)
