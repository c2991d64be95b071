"""The verdict: a pure function of a gate policy and recorded evidence, which anyone can recompute."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from hat.files import canonical_json, sha256_text
from hat.promotion.attribution import Attribution, attribute
from hat.promotion.comparison import Measurements
from hat.promotion.criteria import quality_reasons
from hat.promotion.documents import EvidenceSubject
from hat.promotion.evidence import SUBJECT, Evidence, load_evidence
from hat.promotion.integrity import check_integrity, missing
from hat.promotion.latency import latency_reasons
from hat.promotion.policy import Policy, load_policies
from hat.promotion.reasons import Outcome, Reason, ReasonCode
from hat.promotion.seeds import seed_reasons
from hat.promotion.slices import SliceRow, slice_reasons, slice_rows


class Word(StrEnum):
    """The verdict in one word."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


EXIT_STATUS = {Word.PASS: 0, Word.FAIL: 1, Word.INCONCLUSIVE: 3}
_CURED_BY_TRAINING = {
    ReasonCode.BELOW_BAR,
    ReasonCode.REGRESSION,
    ReasonCode.SLICE_REGRESSION,
    ReasonCode.SLICE_BELOW_BAR,
    ReasonCode.NOT_PROVEN,
}


@dataclass(frozen=True)
class Verdict:
    """PASS, FAIL or INCONCLUSIVE, why, and digests of what it was computed from."""

    word: Word
    reasons: tuple[Reason, ...]
    environment: str
    policy_digest: str
    evidence_digest: str
    subject: EvidenceSubject | None
    slices: tuple[SliceRow, ...] = ()
    """Every slice of every suite; the reasons say which of them decided."""
    attribution: Attribution | None = None
    """What model and harness each did to the score, where it was measured."""

    @property
    def exit_status(self) -> int:
        """0 PASS, 1 FAIL, 3 INCONCLUSIVE."""
        return EXIT_STATUS[self.word]

    @property
    def calls_for_training(self) -> bool:
        """Whether the evidence is complete and the model is what falls short, or may: training is the cure.

        True for a FAIL on quality, and for quality that the policy's full number of items left unproven.
        False when evidence is missing, unfit or leaked, or when only latency falls short.
        """
        short = [reason for reason in self.reasons if reason.outcome in (Outcome.FAILED, Outcome.UNPROVEN)]
        about_quality = [reason for reason in short if not reason.metric.startswith("latency.")]
        return bool(about_quality) and all(reason.code in _CURED_BY_TRAINING for reason in about_quality)

    def to_json(self) -> dict[str, Any]:
        """What `hat gate --json` prints and `verdict.json` holds."""
        return {
            "schema_version": 1,
            "verdict": self.word.value,
            "reasons": [reason.to_json() for reason in self.reasons],
            "policy_digest": self.policy_digest,
            "evidence_digest": self.evidence_digest,
            "environment": self.environment,
            "calls_for_training": self.calls_for_training,
            "slices": [row.to_json() for row in self.slices],
            "attribution": None if self.attribution is None else self.attribution.to_json(),
            "subject": None if self.subject is None else self.subject.model_dump(mode="json"),
        }

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the document: what the ledger keeps."""
        return sha256_text(canonical_json(self.to_json()))


def decide(policy: Policy, evidence: Evidence, *, environment: str) -> Verdict:
    """Judge evidence by the policy of one environment. Pure: no file, clock or chance.

    A proven failure is FAIL, whatever else is missing: more evidence cannot undo it. Otherwise anything
    missing, unfit or unproven makes it INCONCLUSIVE. PASS needs every criterion that applies to be met.
    """
    reasons = list(evidence.problems)
    subject = evidence.subject
    rows: tuple[SliceRow, ...] = ()
    attribution = None
    if subject is None:
        if not any(reason.metric == SUBJECT for reason in reasons):
            reasons.append(missing(SUBJECT, f"{SUBJECT} is missing: nothing says what was measured"))
    else:
        checked = check_integrity(policy, evidence, subject, environment)
        reasons += checked.reasons
        measurements = Measurements(subject, checked.usable, frozenset(evidence.evaluations))
        reasons += quality_reasons(policy, measurements)
        reasons += slice_reasons(policy, measurements)
        reasons += seed_reasons(policy, measurements, evidence.seeds)
        reasons += latency_reasons(policy, evidence.latency, subject)
        rows = slice_rows(policy, measurements)
        attribution, remarks = attribute(measurements, evidence.before)
        reasons += remarks
    # The same fault of a suite may be found by several criteria.
    distinct = tuple(reason for index, reason in enumerate(reasons) if reason not in reasons[:index])
    return Verdict(
        word=_word(reasons),
        reasons=_by_weight(distinct),
        environment=environment,
        policy_digest=policy.digest(environment),
        evidence_digest=evidence.digest,
        subject=subject,
        slices=rows,
        attribution=attribution,
    )


def recompute(policy_file: Path, evidence_folder: Path, environment: str | None = None) -> Verdict:
    """`hat gate POLICY EVIDENCE`: by the policy of ``environment``, or of the one that the evidence names.

    Raises:
        BadInput: the policy file is absent or wrong, or has nothing for that environment; no evidence folder.
    """
    policies = load_policies(policy_file)
    evidence = load_evidence(evidence_folder)
    if environment is None:
        # Evidence that does not say where it is from is judged by any of them: INCONCLUSIVE by all.
        environment = evidence.subject.environment if evidence.subject else min(policies.environments)
    policy = policies.policy(environment, where=str(policy_file))
    return decide(policy, evidence, environment=environment)


_WEIGHT = (Outcome.FAILED, Outcome.UNPROVEN, Outcome.MET, Outcome.NOTED)


def _by_weight(reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """What decides first, otherwise in the policy's order."""
    return tuple(sorted(reasons, key=lambda reason: _WEIGHT.index(reason.outcome)))


def _word(reasons: list[Reason]) -> Word:
    outcomes = {reason.outcome for reason in reasons}
    if Outcome.FAILED in outcomes:
        return Word.FAIL
    return Word.INCONCLUSIVE if Outcome.UNPROVEN in outcomes else Word.PASS
